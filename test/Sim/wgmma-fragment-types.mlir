// A from registers, of the types whose layout is not that of an accumulator: products are those of the same A in memory, bit by bit, in
// each form. What is used or written too early is found.
//
// RUN: async-sim %s --schedule=exhaustive --arg 0=random --arg 1=random | FileCheck %s
// RUN: sed 's/= f8E4M3FN$/= f8E5M2/' %s | async-sim - --kernel=bytes --arg 0=random --arg 1=random | FileCheck %s --check-prefix=BYTES
// RUN: sed 's/= f8E4M3FN$/= i8/; s/= f32$/= i32/' %s | async-sim - --kernel=bytes --arg 0=random --arg 1=random | FileCheck %s --check-prefix=BYTES
// RUN: sed 's/= f8E4M3FN$/= ui8/; s/= f32$/= i32/' %s | async-sim - --kernel=bytes --arg 0=random --arg 1=random | FileCheck %s --check-prefix=BYTES
// RUN: sed '/DONE/d' %s | not async-sim - --kernel=tf32 | FileCheck %s --check-prefix=NO-WAIT
// RUN: sed '/FREE/d' %s | not async-sim - --kernel=steps | FileCheck %s --check-prefix=OVERWRITTEN
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --schedule=exhaustive --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: sed '/wgmma.wait.group/d' %t.nvvm.mlir | not async-sim - --kernel=steps | FileCheck %s --check-prefix=REWRITTEN
// RUN: sed '/wgmma.fence/d' %t.nvvm.mlir | not async-sim - --kernel=tf32 | FileCheck %s --check-prefix=NO-FENCE
//
// RUN: sed 's/= f8E4M3FN$/= f8E5M2/' %s > %t.e5m2.mlir
// RUN: async-opt %t.e5m2.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups --gpux-to-nvvm=chip=sm_90a | async-sim - --kernel=bytes --arg 0=random --arg 1=random --refines=%t.e5m2.mlir | FileCheck %s --check-prefix=BYTES
// What upstream lowers no tensor maps of, i8, crates/sim/tests/wgmma/fragments.rs runs in these forms.
// RUN: sed 's/= f8E4M3FN$/= ui8/; s/= f32$/= i32/' %s > %t.ui8.mlir
// RUN: async-opt %t.ui8.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups --gpux-to-nvvm=chip=sm_90a | async-sim - --kernel=bytes --arg 0=random --arg 1=random --refines=%t.ui8.mlir | FileCheck %s --check-prefix=BYTES

// The elements of 8 bits, and what their products are added in.
!t = f8E4M3FN
!s = f32

!x = memref<64x128x!t>
!y = memref<8x128x!t>
!xs = memref<64x128x!t, 3>
!ys = memref<8x128x!t, 3>
!xmap = !nvgpu.tensormap.descriptor<tensor = memref<64x128x!t, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!ymap = !nvgpu.tensormap.descriptor<tensor = memref<8x128x!t, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128x!t, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128x!t, 3>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128x!t>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8x!s>>
!numbers = vector<1x8x2x4x!t>
!sums = vector<1x1x2x2x!s>

!tx = memref<64x32xf32>
!ty = memref<8x32xf32>
!txs = memref<64x32xf32, 3>
!tys = memref<8x32xf32, 3>
!txmap = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tymap = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!ta = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
!tb = !nvgpu.warpgroup.descriptor<tensor = memref<8x32xf32, 3>>
!tp = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!tacc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!tnumbers = vector<1x8x2x1xf32>
!tsums = vector<1x1x2x2xf32>

gpu.module @fragments {
  // CHECK-DAG: bytes: clean
  // CHECK-DAG: tf32: clean
  // CHECK-DAG: steps: clean
  // BYTES: bytes: clean

  // Where a thread's number [0, n, h, p] of A is, of so many neighbors.
  func.func private @place(%n: index, %h: index, %p: index, %neighbors: index) -> (index, index) {
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
    %group = arith.muli %n, %c4 : index
    %in_row = arith.remui %lane, %c4 : index
    %place = arith.addi %group, %in_row : index
    %column0 = arith.muli %place, %neighbors : index
    %column = arith.addi %column0, %p : index
    return %row, %column : index, index
  }

  func.func private @load(%x: !x) -> !numbers {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zeros = arith.constant dense<0> : vector<1x8x2x4xi8>
    %none = vector.bitcast %zeros : vector<1x8x2x4xi8> to !numbers
    %all = scf.for %n = %c0 to %c8 step %c1 iter_args(%v0 = %none) -> !numbers {
      %v1 = scf.for %h = %c0 to %c2 step %c1 iter_args(%v2 = %v0) -> !numbers {
        %v3 = scf.for %p = %c0 to %c4 step %c1 iter_args(%v4 = %v2) -> !numbers {
          %row, %column = func.call @place(%n, %h, %p, %c4) : (index, index, index, index) -> (index, index)
          %number = memref.load %x[%row, %column] : !x
          %v5 = vector.insert %number, %v4 [0, %n, %h, %p] : !t into !numbers
          scf.yield %v5 : !numbers
        }
        scf.yield %v3 : !numbers
      }
      scf.yield %v1 : !numbers
    }
    return %all : !numbers
  }

  func.func private @load_tf32(%x: !tx) -> !tnumbers {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %none = arith.constant dense<0.0> : !tnumbers
    %all = scf.for %n = %c0 to %c8 step %c1 iter_args(%v0 = %none) -> !tnumbers {
      %v1 = scf.for %h = %c0 to %c2 step %c1 iter_args(%v2 = %v0) -> !tnumbers {
        %row, %column = func.call @place(%n, %h, %c0, %c1) : (index, index, index, index) -> (index, index)
        %number = memref.load %x[%row, %column] : !tx
        %v3 = vector.insert %number, %v2 [0, %n, %h, 0] : f32 into !tnumbers
        scf.yield %v3 : !tnumbers
      }
      scf.yield %v1 : !tnumbers
    }
    return %all : !tnumbers
  }

  // All bits of two sums have to be the same.
  func.func private @compare(%left: vector<1x1x2x2xi32>, %right: vector<1x1x2x2xi32>) {
    %equal = arith.cmpi eq, %left, %right : vector<1x1x2x2xi32>
    %flat = vector.shape_cast %equal : vector<1x1x2x2xi1> to vector<4xi1>
    %all = vector.reduction <and>, %flat : vector<4xi1> into i1
    cf.assert %all, "another product"
    return
  }

  gpu.func @bytes(%x: !x, %y: !y)
      workgroup(%xs: !xs, %ys: !ys) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %any_x = memref.cast %x : !x to memref<*x!t>
    %any_y = memref.cast %y : !y to memref<*x!t>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c64, %c128] : memref<*x!t> -> !xmap
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c8, %c128] : memref<*x!t> -> !ymap
    %tx = gpux.tma_load async %map_x[%c0, %c0], %xs : !xmap, !xs
    %ty = gpux.tma_load async %map_y[%c0, %c0], %ys : !ymap, !ys
    async.await %tx, %ty
    %a = nvgpu.warpgroup.generate.descriptor %xs, %map_x : !xs, !xmap -> !a
    %b = nvgpu.warpgroup.generate.descriptor %ys, %map_y : !ys, !ymap -> !b
    %bits = arith.constant dense<0> : vector<1x1x2x2xi32>
    %zeros = vector.bitcast %bits : vector<1x1x2x2xi32> to !sums
    %c = gpux.write_fragment %zeros : !sums to !acc
    %d = gpux.write_fragment %zeros : !sums to !acc
    %numbers = func.call @load(%x) : (!x) -> !numbers
    %p = gpux.write_fragment %numbers : !numbers to !p
    %0, %t0 = gpux.wgmma async %a, %b, %c {transpose_b} : !a, !b, !acc
    %1, %t1 = gpux.wgmma async %p, %b, %d {transpose_b} : !p, !b, !acc
    async.await %t0, %t1
    %from_memory = gpux.read_fragment %0 : !acc to !sums
    %from_registers = gpux.read_fragment %1 : !acc to !sums
    %bits0 = vector.bitcast %from_memory : !sums to vector<1x1x2x2xi32>
    %bits1 = vector.bitcast %from_registers : !sums to vector<1x1x2x2xi32>
    func.call @compare(%bits0, %bits1) : (vector<1x1x2x2xi32>, vector<1x1x2x2xi32>) -> ()

    // What is read is what was written.
    %same = gpux.read_fragment %p : !p to !numbers
    %written = vector.bitcast %numbers : !numbers to vector<1x8x2x1xi32>
    %read = vector.bitcast %same : !numbers to vector<1x8x2x1xi32>
    %equal = arith.cmpi eq, %written, %read : vector<1x8x2x1xi32>
    %flat = vector.shape_cast %equal : vector<1x8x2x1xi1> to vector<16xi1>
    %all = vector.reduction <and>, %flat : vector<16xi1> into i1
    cf.assert %all, "other numbers"
    gpu.return
  }

  // NO-WAIT: error: gpux.read_fragment: uses an accumulator before the matrix multiplication that writes it has been waited for
  // NO-FENCE: error: {{.*}}: no wgmma.fence comes before the first matrix multiplication of the warpgroup
  gpu.func @tf32(%x: !tx, %y: !ty)
      workgroup(%xs: !txs, %ys: !tys) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %any_x = memref.cast %x : !tx to memref<*xf32>
    %any_y = memref.cast %y : !ty to memref<*xf32>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c64, %c32] : memref<*xf32> -> !txmap
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c8, %c32] : memref<*xf32> -> !tymap
    %tx = gpux.tma_load async %map_x[%c0, %c0], %xs : !txmap, !txs
    %ty = gpux.tma_load async %map_y[%c0, %c0], %ys : !tymap, !tys
    async.await %tx, %ty
    %a = nvgpu.warpgroup.generate.descriptor %xs, %map_x : !txs, !txmap -> !ta
    %b = nvgpu.warpgroup.generate.descriptor %ys, %map_y : !tys, !tymap -> !tb
    %c = nvgpu.warpgroup.mma.init.accumulator -> !tacc
    %d = nvgpu.warpgroup.mma.init.accumulator -> !tacc
    %numbers = func.call @load_tf32(%x) : (!tx) -> !tnumbers
    %p = gpux.write_fragment %numbers : !tnumbers to !tp
    %0, %t0 = gpux.wgmma async %a, %b, %c {transpose_b} : !ta, !tb, !tacc
    %1, %t1 = gpux.wgmma async %p, %b, %d {transpose_b} : !tp, !tb, !tacc
    async.await %t0, %t1 // DONE
    %from_memory = gpux.read_fragment %0 : !tacc to !tsums
    %from_registers = gpux.read_fragment %1 : !tacc to !tsums
    %bits0 = arith.bitcast %from_memory : !tsums to vector<1x1x2x2xi32>
    %bits1 = arith.bitcast %from_registers : !tsums to vector<1x1x2x2xi32>
    func.call @compare(%bits0, %bits1) : (vector<1x1x2x2xi32>, vector<1x1x2x2xi32>) -> ()

    // What is read is what was written, with all of its bits.
    %same = gpux.read_fragment %p : !tp to !tnumbers
    %written = arith.bitcast %numbers : !tnumbers to vector<1x8x2x1xi32>
    %read = arith.bitcast %same : !tnumbers to vector<1x8x2x1xi32>
    %equal = arith.cmpi eq, %written, %read : vector<1x8x2x1xi32>
    %flat = vector.shape_cast %equal : vector<1x8x2x1xi1> to vector<16xi1>
    %all = vector.reduction <and>, %flat : vector<16xi1> into i1
    cf.assert %all, "other numbers"
    gpu.return
  }

  // A is written in each iteration, once the multiplication of the one before is complete.
  // OVERWRITTEN: error: gpux.write_fragment: writes registers that a matrix multiplication may still read as A
  // REWRITTEN: error: llvm.inline_asm: writes registers that a matrix multiplication may still read as A
  gpu.func @steps(%x: !tx, %y: !ty)
      workgroup(%ys: !tys) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %any_y = memref.cast %y : !ty to memref<*xf32>
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c8, %c32] : memref<*xf32> -> !tymap
    %ty = gpux.tma_load async %map_y[%c0, %c0], %ys : !tymap, !tys
    async.await %ty
    %b = nvgpu.warpgroup.generate.descriptor %ys, %map_y : !tys, !tymap -> !tb
    %c = nvgpu.warpgroup.mma.init.accumulator -> !tacc
    %numbers = func.call @load_tf32(%x) : (!tx) -> !tnumbers
    %none = async.ready
    %sum, %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %c, %before = %none) -> (!tacc, !async.token) {
      async.await %before // FREE
      %p = gpux.write_fragment %numbers : !tnumbers to !tp
      %d, %t = gpux.wgmma async %p, %b, %sum {transpose_b} : !tp, !tb, !tacc
      scf.yield %d, %t : !tacc, !async.token
    }
    async.await %last
    %product = gpux.read_fragment %sum : !tacc to !tsums
    gpu.return
  }
}
