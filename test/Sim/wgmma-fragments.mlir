// Matrices in the registers of a warpgroup: a thread has the numbers that gpux.read_fragment says, A is multiplied from there, and what
// is used too early or written too early is found. Counted and lowered, it computes the same.
//
// RUN: async-sim %s --arg 0=random --arg 1=random | FileCheck %s
// RUN: async-sim %s --kernel=steps --schedule=exhaustive --arg 0=random --arg 1=random | FileCheck %s --check-prefix=STEPS
// RUN: sed '/DONE/d' %s | not async-sim - --kernel=product | FileCheck %s --check-prefix=NO-WAIT
// RUN: sed '/FREE/d' %s | not async-sim - --kernel=steps | FileCheck %s --check-prefix=OVERWRITTEN
// RUN: sed '/FREE/d' %s | not async-sim - --kernel=handed_on | FileCheck %s --check-prefix=HANDED-ON
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: sed '/wait_group <wgmma>/d' %t.counted.mlir | not async-sim - --kernel=steps | FileCheck %s --check-prefix=OVERWRITTEN
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: sed '/wgmma.wait.group/d' %t.nvvm.mlir | not async-sim - --kernel=steps | FileCheck %s --check-prefix=REWRITTEN
// RUN: sed '/wgmma.fence/d' %t.nvvm.mlir | not async-sim - --kernel=product | FileCheck %s --check-prefix=NO-FENCE
// RUN: sed '/scf.for/,/scf.yield/{/wgmma.fence/d}' %t.nvvm.mlir | not async-sim - --kernel=steps | FileCheck %s --check-prefix=NO-FENCE-OF-A

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!acc16 = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>

!x = memref<64x64xf16>
!floats = vector<1x8x2x2xf32>
!halves = vector<1x8x2x2xf16>

gpu.module @fragments {
  // CHECK-DAG: product: clean
  // CHECK-DAG: sums_of_halves: clean
  // CHECK-DAG: steps: clean
  // CHECK-DAG: handed_on: clean
  // STEPS: steps: clean

  func.func private @describe(%x: !x) -> !map {
    %c64 = arith.constant 64 : index
    %any = memref.cast %x : !x to memref<*xf16>
    %map = nvgpu.tma.create.descriptor %any box[%c64, %c64] : memref<*xf16> -> !map
    return %map : !map
  }

  // Where a thread's number [0, n, h, p] is.
  func.func private @place(%n: index, %h: index, %p: index) -> (index, index) {
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %warp = arith.divui %t, %c32 : index
    %lane = arith.remui %t, %c32 : index
    %first_of_warp = arith.muli %warp, %c16 : index
    %row_of_lane = arith.divui %lane, %c4 : index
    %half = arith.muli %h, %c8 : index
    %row0 = arith.addi %first_of_warp, %row_of_lane : index
    %row = arith.addi %row0, %half : index
    %group = arith.muli %n, %c8 : index
    %in_row = arith.remui %lane, %c4 : index
    %pair = arith.muli %in_row, %c2 : index
    %column0 = arith.addi %group, %pair : index
    %column = arith.addi %column0, %p : index
    return %row, %column : index, index
  }

  func.func private @load(%x: !x) -> !halves {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %none = arith.constant dense<0.0> : !halves
    %all = scf.for %n = %c0 to %c8 step %c1 iter_args(%v0 = %none) -> !halves {
      %v1 = scf.for %h = %c0 to %c2 step %c1 iter_args(%v2 = %v0) -> !halves {
        %v3 = scf.for %p = %c0 to %c2 step %c1 iter_args(%v4 = %v2) -> !halves {
          %row, %column = func.call @place(%n, %h, %p) : (index, index, index) -> (index, index)
          %number = memref.load %x[%row, %column] : !x
          %v5 = vector.insert %number, %v4 [0, %n, %h, %p] : f16 into !halves
          scf.yield %v5 : !halves
        }
        scf.yield %v3 : !halves
      }
      scf.yield %v1 : !halves
    }
    return %all : !halves
  }

  // Checks four of a thread's numbers.
  func.func private @check(%x: !x, %y: !x, %numbers: !floats, %times: f32, %small: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %n = arith.remui %t, %c8 : index
    scf.for %h = %c0 to %c2 step %c1 {
      scf.for %p = %c0 to %c2 step %c1 {
        %row, %column = func.call @place(%n, %h, %p) : (index, index, index) -> (index, index)
        %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f32 {
          %a = memref.load %x[%row, %k] : !x
          %b = memref.load %y[%k, %column] : !x
          %a32 = arith.extf %a : f16 to f32
          %b32 = arith.extf %b : f16 to f32
          %ab = arith.mulf %a32, %b32 : f32
          %next = arith.addf %sum, %ab : f32
          scf.yield %next : f32
        }
        %all = arith.mulf %sum, %times : f32
        %number = vector.extract %numbers[0, %n, %h, %p] : f32 from !floats
        %difference = arith.subf %all, %number : f32
        %size = math.absf %difference : f32
        %same = arith.cmpf olt, %size, %small : f32
        cf.assert %same, "another product"
      }
    }
    return
  }

  // NO-WAIT: error: gpux.read_fragment: uses an accumulator before the matrix multiplication that writes it has been waited for
  // NO-WAIT: against: gpux.wgmma
  // NO-WAIT: help: await
  // NO-FENCE: error: llvm.inline_asm: no wgmma.fence comes before the first matrix multiplication of the warpgroup
  gpu.func @product(%x: !x, %y: !x)
      workgroup(%b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %small = arith.constant 0.01 : f32
    %map = func.call @describe(%y) : (!x) -> !map
    %tb = gpux.tma_load async %map[%c0, %c0], %b : !map, !tile
    async.await %tb
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : !tile, !map -> !matrix
    %numbers = func.call @load(%x) : (!x) -> !halves
    %a = gpux.write_fragment %numbers : !halves to !p
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %a, %db, %c : !p, !matrix, !acc
    async.await %t // DONE
    %product = gpux.read_fragment %d : !acc to !floats
    func.call @check(%x, %y, %product, %one, %small) : (!x, !x, !floats, f32, f32) -> ()
    gpu.return
  }

  // Added in f16, from zeros that are written.
  gpu.func @sums_of_halves(%x: !x, %y: !x)
      workgroup(%b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %small = arith.constant 0.1 : f32
    %zeros = arith.constant dense<0.0> : !halves
    %map = func.call @describe(%y) : (!x) -> !map
    %tb = gpux.tma_load async %map[%c0, %c0], %b : !map, !tile
    async.await %tb
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : !tile, !map -> !matrix
    %numbers = func.call @load(%x) : (!x) -> !halves
    %a = gpux.write_fragment %numbers : !halves to !p
    %c = gpux.write_fragment %zeros : !halves to !acc16
    %d, %t = gpux.wgmma async %a, %db, %c : !p, !matrix, !acc16
    async.await %t
    %product = gpux.read_fragment %d : !acc16 to !halves
    %floats = arith.extf %product : !halves to !floats
    func.call @check(%x, %y, %floats, %one, %small) : (!x, !x, !floats, f32, f32) -> ()
    gpu.return
  }

  // A is written in each iteration, once the multiplication of the one before is complete.
  // OVERWRITTEN: error: gpux.write_fragment: writes registers that a matrix multiplication may still read as A
  // OVERWRITTEN: against: gpux.wgmma
  // REWRITTEN: error: llvm.inline_asm: writes registers that a matrix multiplication may still read as A
  // REWRITTEN: against: llvm.inline_asm
  // REWRITTEN: help: wait for the multiplication's group before this
  // NO-FENCE-OF-A: error: llvm.inline_asm: reads registers of A that were written after the last wgmma.fence
  // NO-FENCE-OF-A: help: put nvvm.wgmma.fence.aligned after they are written, before this
  gpu.func @steps(%x: !x, %y: !x)
      workgroup(%b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %four = arith.constant 4.0 : f32
    %small = arith.constant 0.02 : f32
    %map = func.call @describe(%y) : (!x) -> !map
    %tb = gpux.tma_load async %map[%c0, %c0], %b : !map, !tile
    async.await %tb
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : !tile, !map -> !matrix
    %numbers = func.call @load(%x) : (!x) -> !halves
    %a0 = gpux.write_fragment %numbers : !halves to !p
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first, %t0 = gpux.wgmma async %a0, %db, %c : !p, !matrix, !acc
    %sum, %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %first, %before = %t0) -> (!acc, !async.token) {
      async.await %before // FREE
      %a = gpux.write_fragment %numbers : !halves to !p
      %d, %t = gpux.wgmma async %a, %db, %sum : !p, !matrix, !acc
      scf.yield %d, %t : !acc, !async.token
    }
    async.await %last
    %product = gpux.read_fragment %sum : !acc to !floats
    func.call @check(%x, %y, %product, %four, %small) : (!x, !x, !floats, f32, f32) -> ()
    gpu.return
  }

  // A takes the place of another value at the end of each iteration, where it is not read any more.
  // HANDED-ON: error: {{.*}}: writes registers that a matrix multiplication may still read as A
  // HANDED-ON: against: gpux.wgmma
  gpu.func @handed_on(%x: !x, %y: !x)
      workgroup(%b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %two = arith.constant 2.0 : f32
    %small = arith.constant 0.02 : f32
    %map = func.call @describe(%y) : (!x) -> !map
    %tb = gpux.tma_load async %map[%c0, %c0], %b : !map, !tile
    async.await %tb
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : !tile, !map -> !matrix
    %numbers = func.call @load(%x) : (!x) -> !halves
    %a0 = gpux.write_fragment %numbers : !halves to !p
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %sum, %a = scf.for %i = %c0 to %c2 step %c1 iter_args(%sum = %c, %p = %a0) -> (!acc, !p) {
      %d, %t = gpux.wgmma async %p, %db, %sum : !p, !matrix, !acc
      %next = gpux.write_fragment %numbers : !halves to !p
      async.await %t // FREE
      scf.yield %d, %next : !acc, !p
    }
    %product = gpux.read_fragment %sum : !acc to !floats
    func.call @check(%x, %y, %product, %two, %small) : (!x, !x, !floats, f32, f32) -> ()
    gpu.return
  }
}
