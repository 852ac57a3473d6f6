// gpux.wgmma with tokens: the product is right, also of what lies the other way around, and what does not wait is found. Counted
// and lowered, it computes the same.
//
// RUN: async-sim %s --arg 0=random --arg 1=random | FileCheck %s
// RUN: async-sim %s --kernel=steps --schedule=exhaustive --arg 0=random --arg 1=random | FileCheck %s --check-prefix=STEPS
// RUN: sed '/ARRIVED/d' %s | not async-sim - --kernel=product | FileCheck %s --check-prefix=NO-ARRIVAL
// RUN: sed '/DONE/d' %s | not async-sim - --kernel=product | FileCheck %s --check-prefix=NO-WAIT
// RUN: sed '/SLOT/d' %s | not async-sim - --kernel=steps | FileCheck %s --check-prefix=EARLY
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: sed '/wait_group <wgmma>, 1/s/1$/2/' %t.counted.mlir | not async-sim - --kernel=steps | FileCheck %s --check-prefix=EARLY
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: sed '/wgmma.fence/d' %t.nvvm.mlir | not async-sim - --kernel=product | FileCheck %s --check-prefix=NO-FENCE

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

!x = memref<64x64xf16>
!sized = memref<?x?xf16>
!sum = memref<?x?xf32>
!wide = memref<128x64xf16, #gpu.address_space<workgroup>>
!wide_map = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!wide_matrix = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, #gpu.address_space<workgroup>>>
!long = memref<64x128xf16, #gpu.address_space<workgroup>>
!long_matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, #gpu.address_space<workgroup>>>
!wide_acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

gpu.module @tokens {
  // CHECK-DAG: product: clean
  // CHECK-DAG: transposed: clean
  // CHECK-DAG: blocks: clean
  // CHECK-DAG: boxes: clean
  // CHECK-DAG: steps: clean
  // STEPS: steps: clean

  func.func private @describe(%x: memref<64x64xf16>) -> !map {
    %c64 = arith.constant 64 : index
    %any = memref.cast %x : memref<64x64xf16> to memref<*xf16>
    %map = nvgpu.tma.create.descriptor %any box[%c64, %c64] : memref<*xf16> -> !map
    return %map : !map
  }

  // Checks some of the numbers that are stored, in one row for each thread.
  func.func private @check(%u: !sized, %v: !sized, %out: !sum, %times: f32, %transpose_a: i1, %transpose_b: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c23 = arith.constant 23 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %small = arith.constant 0.01 : f32
    %rows = memref.dim %out, %c0 : !sum
    %columns = memref.dim %out, %c1 : !sum
    %t = gpu.thread_id x
    %row = arith.remui %t, %rows : index
    %first = arith.remui %t, %c23 : index
    scf.for %column = %first to %columns step %c23 {
      %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f32 {
        %i = arith.select %transpose_a, %k, %row : index
        %j = arith.select %transpose_a, %row, %k : index
        %l = arith.select %transpose_b, %column, %k : index
        %m = arith.select %transpose_b, %k, %column : index
        %a = memref.load %u[%i, %j] : !sized
        %b = memref.load %v[%l, %m] : !sized
        %a32 = arith.extf %a : f16 to f32
        %b32 = arith.extf %b : f16 to f32
        %ab = arith.mulf %a32, %b32 : f32
        %next = arith.addf %sum, %ab : f32
        scf.yield %next : f32
      }
      %all = arith.mulf %sum, %times : f32
      %stored = memref.load %out[%row, %column] : !sum
      %difference = arith.subf %all, %stored : f32
      %size = math.absf %difference : f32
      %same = arith.cmpf olt, %size, %small : f32
      cf.assert %same, "another product"
    }
    return
  }

  func.func private @check_square(%x: !x, %y: !x, %out: memref<64x64xf32>, %times: f32, %transposed: i1) {
    %u = memref.cast %x : !x to !sized
    %v = memref.cast %y : !x to !sized
    %sum = memref.cast %out : memref<64x64xf32> to !sum
    func.call @check(%u, %v, %sum, %times, %transposed, %transposed) : (!sized, !sized, !sum, f32, i1, i1) -> ()
    return
  }

  // NO-ARRIVAL: error: RAW race: gpux.wgmma reads what an asynchronous copy has not been seen to write
  // NO-ARRIVAL: against: gpux.tma_load
  // NO-WAIT: error: nvgpu.warpgroup.mma.store: uses an accumulator before the matrix multiplication that writes it has been waited for
  // NO-WAIT: against: gpux.wgmma
  // NO-WAIT: help: await
  // NO-WAIT: error: gpux.wgmma: the kernel ends and nobody has waited for this
  // NO-FENCE: error: nvvm.wgmma.mma_async: no wgmma.fence comes before the first matrix multiplication of the warpgroup
  gpu.func @product(%x: memref<64x64xf16>, %y: memref<64x64xf16>, %out: memref<64x64xf32>)
      workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %false = arith.constant false
    %map_x = func.call @describe(%x) : (memref<64x64xf16>) -> !map
    %map_y = func.call @describe(%y) : (memref<64x64xf16>) -> !map
    %ta = gpux.tma_load async %map_x[%c0, %c0], %a : !map, !tile
    %tb = gpux.tma_load async %map_y[%c0, %c0], %b : !map, !tile
    async.await %ta, %tb // ARRIVED
    %da = nvgpu.warpgroup.generate.descriptor %a, %map_x : !tile, !map -> !matrix
    %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : !tile, !map -> !matrix
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %db, %c : !matrix, !matrix, !acc
    async.await %t // DONE
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.barrier
    func.call @check_square(%x, %y, %out, %one, %false) : (memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf32>, f32, i1) -> ()
    gpu.return
  }

  gpu.func @transposed(%x: memref<64x64xf16>, %y: memref<64x64xf16>, %out: memref<64x64xf32>)
      workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %true = arith.constant true
    %map_x = func.call @describe(%x) : (memref<64x64xf16>) -> !map
    %map_y = func.call @describe(%y) : (memref<64x64xf16>) -> !map
    %ta = gpux.tma_load async %map_x[%c0, %c0], %a : !map, !tile
    %tb = gpux.tma_load async %map_y[%c0, %c0], %b : !map, !tile
    async.await %ta, %tb
    %da = nvgpu.warpgroup.generate.descriptor %a, %map_x : !tile, !map -> !matrix
    %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : !tile, !map -> !matrix
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %db, %c {transpose_a, transpose_b} : !matrix, !matrix, !acc
    async.await %t
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.barrier
    func.call @check_square(%x, %y, %out, %one, %true) : (memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf32>, f32, i1) -> ()
    gpu.return
  }

  // Two blocks of rows, each of which goes on in rows of K.
  gpu.func @blocks(%x: memref<128x64xf16>, %y: memref<128x64xf16>, %out: memref<128x128xf32>)
      workgroup(%a: !wide, %b: !wide) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %one = arith.constant 1.0 : f32
    %false = arith.constant false
    %true = arith.constant true
    %any_x = memref.cast %x : memref<128x64xf16> to memref<*xf16>
    %any_y = memref.cast %y : memref<128x64xf16> to memref<*xf16>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c128, %c64] : memref<*xf16> -> !wide_map
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c128, %c64] : memref<*xf16> -> !wide_map
    %ta = gpux.tma_load async %map_x[%c0, %c0], %a : !wide_map, !wide
    %tb = gpux.tma_load async %map_y[%c0, %c0], %b : !wide_map, !wide
    async.await %ta, %tb
    %da = nvgpu.warpgroup.generate.descriptor %a, %map_x : !wide, !wide_map -> !wide_matrix
    %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : !wide, !wide_map -> !wide_matrix
    %c = nvgpu.warpgroup.mma.init.accumulator -> !wide_acc
    %d, %t = gpux.wgmma async %da, %db, %c {transpose_b} : !wide_matrix, !wide_matrix, !wide_acc
    async.await %t
    nvgpu.warpgroup.mma.store %d, %out : !wide_acc to memref<128x128xf32>
    gpu.barrier
    %u = memref.cast %x : memref<128x64xf16> to !sized
    %v = memref.cast %y : memref<128x64xf16> to !sized
    %sum = memref.cast %out : memref<128x128xf32> to !sum
    func.call @check(%u, %v, %sum, %one, %false, %true) : (!sized, !sized, !sum, f32, i1, i1) -> ()
    gpu.return
  }

  // M and N are contiguous, in two boxes each: a block of rows is a box, and B goes on in the next one.
  gpu.func @boxes(%x: memref<64x128xf16>, %y: memref<64x128xf16>, %out: memref<128x128xf32>)
      workgroup(%a: !wide, %b: !wide) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %one = arith.constant 1.0 : f32
    %false = arith.constant false
    %true = arith.constant true
    %any_x = memref.cast %x : memref<64x128xf16> to memref<*xf16>
    %any_y = memref.cast %y : memref<64x128xf16> to memref<*xf16>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c64, %c64] : memref<*xf16> -> !map
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c64, %c64] : memref<*xf16> -> !map
    %a0 = memref.subview %a[0, 0] [64, 64] [1, 1] : !wide to memref<64x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %a1 = memref.subview %a[64, 0] [64, 64] [1, 1] : !wide to memref<64x64xf16, strided<[64, 1], offset: 4096>, #gpu.address_space<workgroup>>
    %b0 = memref.subview %b[0, 0] [64, 64] [1, 1] : !wide to memref<64x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %b1 = memref.subview %b[64, 0] [64, 64] [1, 1] : !wide to memref<64x64xf16, strided<[64, 1], offset: 4096>, #gpu.address_space<workgroup>>
    %t0 = gpux.tma_load async %map_x[%c0, %c0], %a0 : !map, memref<64x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %t1 = gpux.tma_load async %map_x[%c0, %c64], %a1 : !map, memref<64x64xf16, strided<[64, 1], offset: 4096>, #gpu.address_space<workgroup>>
    %t2 = gpux.tma_load async %map_y[%c0, %c0], %b0 : !map, memref<64x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %t3 = gpux.tma_load async %map_y[%c0, %c64], %b1 : !map, memref<64x64xf16, strided<[64, 1], offset: 4096>, #gpu.address_space<workgroup>>
    async.await %t0, %t1, %t2, %t3
    %all_a = memref.reinterpret_cast %a to offset: [0], sizes: [64, 128], strides: [128, 1] : !wide to !long
    %all_b = memref.reinterpret_cast %b to offset: [0], sizes: [64, 128], strides: [128, 1] : !wide to !long
    %da = nvgpu.warpgroup.generate.descriptor %all_a, %map_x : !long, !map -> !long_matrix
    %db = nvgpu.warpgroup.generate.descriptor %all_b, %map_y : !long, !map -> !long_matrix
    %c = nvgpu.warpgroup.mma.init.accumulator -> !wide_acc
    %d, %t = gpux.wgmma async %da, %db, %c {transpose_a} : !long_matrix, !long_matrix, !wide_acc
    async.await %t
    nvgpu.warpgroup.mma.store %d, %out : !wide_acc to memref<128x128xf32>
    gpu.barrier
    %u = memref.cast %x : memref<64x128xf16> to !sized
    %v = memref.cast %y : memref<64x128xf16> to !sized
    %sum = memref.cast %out : memref<128x128xf32> to !sum
    func.call @check(%u, %v, %sum, %one, %true, %false) : (!sized, !sized, !sum, f32, i1, i1) -> ()
    gpu.return
  }

  // Three steps on two slots for A: a step is issued before the one before it is awaited, and then that one's slot is filled again.
  // EARLY: error: WAR race: gpux.tma_load writes what a matrix multiplication may still read
  gpu.func @steps(%x: memref<64x64xf16>, %y: memref<64x64xf16>, %out: memref<64x64xf32>)
      workgroup(%a: memref<2x64x64xf16, #gpu.address_space<workgroup>>, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %three = arith.constant 3.0 : f32
    %false = arith.constant false
    %map_x = func.call @describe(%x) : (memref<64x64xf16>) -> !map
    %map_y = func.call @describe(%y) : (memref<64x64xf16>) -> !map
    %a0 = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !tile
    %tb = gpux.tma_load async %map_y[%c0, %c0], %b : !map, !tile
    %ta = gpux.tma_load async %map_x[%c0, %c0], %a0 : !map, !tile
    %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : !tile, !map -> !matrix
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %ready = async.ready
    async.await %tb
    %d, %last, %loaded = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %c, %before = %ready, %full = %ta) -> (!acc, !async.token, !async.token) {
      %slot = arith.andi %i, %c1 : index
      %other = arith.subi %c1, %slot : index
      %view = memref.subview %a[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      %next = memref.subview %a[%other, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      async.await %full
      %da = nvgpu.warpgroup.generate.descriptor %view, %map_x : memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
      %e, %t = gpux.wgmma async %da, %db, %sum : !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>, !matrix, !acc
      async.await %before // SLOT
      %refilled = gpux.tma_load async %map_x[%c0, %c0], %next : !map, memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      scf.yield %e, %t, %refilled : !acc, !async.token, !async.token
    }
    async.await %last
    async.await %loaded
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.barrier
    func.call @check_square(%x, %y, %out, %three, %false) : (memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf32>, f32, i1) -> ()
    gpu.return
  }
}
