// Products of integers, which are added in i32: A has a sign, and B has none.
//
// RUN: async-sim %s --arg 0=random --arg 1=random | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s

!imap = !nvgpu.tensormap.descriptor<tensor = memref<64x128xi8, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!umap = !nvgpu.tensormap.descriptor<tensor = memref<8x128xui8, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!imatrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!umatrix = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xui8, 3>>
!isum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xi32>>

gpu.module @integers {
  // CHECK: integers: clean

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

  // Integers with and without a sign, from sums that are not 0.
  gpu.func @integers(%x: memref<64x128xi8>, %y: memref<8x128xui8>)
      workgroup(%a: memref<64x128xi8, 3>, %b: memref<8x128xui8, 3>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %sevens = arith.constant dense<7> : vector<1x1x2x2xi32>
    %seven = arith.constant 7 : i32
    %any_x = memref.cast %x : memref<64x128xi8> to memref<*xi8>
    %any_y = memref.cast %y : memref<8x128xui8> to memref<*xui8>
    %map_x = nvgpu.tma.create.descriptor %any_x box[%c64, %c128] : memref<*xi8> -> !imap
    %map_y = nvgpu.tma.create.descriptor %any_y box[%c8, %c128] : memref<*xui8> -> !umap
    %ta = gpux.tma_load async %map_x[%c0, %c0], %a : !imap, memref<64x128xi8, 3>
    %tb = gpux.tma_load async %map_y[%c0, %c0], %b : !umap, memref<8x128xui8, 3>
    async.await %ta, %tb
    %da = nvgpu.warpgroup.generate.descriptor %a, %map_x : memref<64x128xi8, 3>, !imap -> !imatrix
    %db = nvgpu.warpgroup.generate.descriptor %b, %map_y : memref<8x128xui8, 3>, !umap -> !umatrix
    %c = gpux.write_fragment %sevens : vector<1x1x2x2xi32> to !isum
    %d, %t = gpux.wgmma async %da, %db, %c {transpose_b} : !imatrix, !umatrix, !isum
    async.await %t
    %numbers = gpux.read_fragment %d : !isum to vector<1x1x2x2xi32>
    scf.for %h = %c0 to %c2 step %c1 {
      scf.for %p = %c0 to %c2 step %c1 {
        %row, %column = func.call @place(%c0, %h, %p) : (index, index, index) -> (index, index)
        %sum = scf.for %k = %c0 to %c128 step %c1 iter_args(%sum = %seven) -> i32 {
          %u = memref.load %x[%row, %k] : memref<64x128xi8>
          %v = memref.load %y[%column, %k] : memref<8x128xui8>
          %bits = builtin.unrealized_conversion_cast %v : ui8 to i8
          %u32 = arith.extsi %u : i8 to i32
          %v32 = arith.extui %bits : i8 to i32
          %uv = arith.muli %u32, %v32 : i32
          %next = arith.addi %sum, %uv : i32
          scf.yield %next : i32
        }
        %number = vector.extract %numbers[0, 0, %h, %p] : i32 from vector<1x1x2x2xi32>
        %same = arith.cmpi eq, %sum, %number : i32
        cf.assert %same, "another product"
      }
    }
    gpu.return
  }
}
