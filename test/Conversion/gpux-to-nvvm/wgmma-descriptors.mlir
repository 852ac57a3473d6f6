// What a descriptor of a view costs in a loop: one multiplication and one addition in 32 bits, of the slot. All else is added before the
// loop, and what depends on the thread's number goes through a shuffle, since the hardware wants it in a register that the warp shares.
//
// RUN: async-opt %s --gpux-to-nvvm=chip=sm_90a --canonicalize | FileCheck %s

!tile = memref<128x64xf16, #gpu.address_space<workgroup>>
!bytes = memref<32768xi8, #gpu.address_space<workgroup>>
!rows = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>

gpu.module @m {
  // A slot has 16384 bytes, 1024 units of 16 bytes, and the 64 rows of a warpgroup 512 units.
  // CHECK-LABEL: gpu.func @slots
  // CHECK: %[[WARPGROUP:.*]] = arith.divui %{{.*}}, %c128
  // CHECK: %[[START:.*]] = memref.view %arg2[%c0][] : memref<32768xi8, #gpu.address_space<workgroup>> to memref<64x64xf16
  // CHECK: %[[FIRST:.*]] = nvgpu.warpgroup.generate.descriptor %[[START]]
  // CHECK: %[[BITS:.*]] = builtin.unrealized_conversion_cast %[[FIRST]] {{.*}} to i64
  // CHECK: %[[LOW:.*]] = arith.trunci %[[BITS]] : i64 to i32
  // CHECK: %[[HIGH:.*]] = arith.andi %[[BITS]], %c-4294967296_i64
  // CHECK: %[[WARPGROUP32:.*]] = arith.index_cast %[[WARPGROUP]] : index to i32
  // CHECK: %[[OF_ROWS:.*]] = arith.muli %[[WARPGROUP32]], %c512_i32
  // CHECK: %[[OWN:.*]] = arith.addi %[[LOW]], %[[OF_ROWS]]
  // CHECK: %[[SHARED:.*]], %{{.*}} = gpu.shuffle idx %[[OWN]]
  // B is the same for all: no shuffle.
  // CHECK-NOT: gpu.shuffle
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %
  // CHECK-NOT: index_cast
  // CHECK: %[[OF_SLOT:.*]] = arith.muli %[[SLOT]], %c1024_i32
  // CHECK-NEXT: %[[A:.*]] = arith.addi %[[SHARED]], %[[OF_SLOT]]
  // CHECK: %[[WIDE:.*]] = arith.extui %[[A]] : i32 to i64
  // CHECK-NEXT: %[[A0:.*]] = arith.ori %[[WIDE]], %[[HIGH]]
  // CHECK: nvvm.wgmma.mma_async %[[A0]],
  // CHECK: %[[A1:.*]] = arith.addi %[[A]], %c2_i32
  // CHECK-NEXT: %[[WIDE1:.*]] = arith.extui %[[A1]] : i32 to i64
  // CHECK-NEXT: arith.ori %[[WIDE1]], %[[HIGH]]
  gpu.func @slots(%map: !map, %n: index) workgroup(%bytes: !bytes, %tile: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %size = arith.constant 16384 : i32
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %warpgroup = arith.divui %thread, %c128 : index
    %row = arith.muli %warpgroup, %c64 : index
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %slot = %c0_i32) -> (!acc, i32) {
      %offset = arith.muli %slot, %size : i32
      %at = arith.index_castui %offset : i32 to index
      %view = memref.view %bytes[%at][] : !bytes to !tile
      %rows = memref.subview %view[%row, 0] [64, 64] [1, 1] : !tile to !rows
      %a = nvgpu.warpgroup.generate.descriptor %rows, %map : !rows, !map -> !a
      %b = nvgpu.warpgroup.generate.descriptor %tile, %map : !tile, !map -> !b
      %next = gpux.wgmma %a, %b, %sum {transpose_b} : !a, !b, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 0
      %other = arith.subi %c1_i32, %slot : i32
      scf.yield %next, %other : !acc, i32
    }
    gpu.return
  }

  // Bytes that are not known to be multiples of 16 can't be divided one by one: the descriptor stays as it is made.
  // CHECK-LABEL: gpu.func @any_byte
  // CHECK: %[[MATRIX:.*]] = nvgpu.warpgroup.generate.descriptor
  // CHECK: %[[WHOLE:.*]] = builtin.unrealized_conversion_cast %[[MATRIX]] {{.*}} to i64
  // CHECK: nvvm.wgmma.mma_async %[[WHOLE]], %
  // CHECK: arith.addi %[[WHOLE]], %c2_i64
  gpu.func @any_byte(%map: !map, %at: index) workgroup(%bytes: !bytes) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %view = memref.view %bytes[%at][] : !bytes to memref<64x64xf16, #gpu.address_space<workgroup>>
    %matrix = nvgpu.warpgroup.generate.descriptor %view, %map : memref<64x64xf16, #gpu.address_space<workgroup>>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
    %next = gpux.wgmma %matrix, %matrix, %zero {transpose_b} : !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>, !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>, !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // Where a buffer begins that somebody else has cut out of another one is not known here.
  // CHECK-LABEL: gpu.func @cut_out
  // CHECK: %[[MATRIX:.*]] = nvgpu.warpgroup.generate.descriptor %arg1
  // CHECK: %[[WHOLE:.*]] = builtin.unrealized_conversion_cast %[[MATRIX]] {{.*}} to i64
  // CHECK: nvvm.wgmma.mma_async %[[WHOLE]], %
  gpu.func @cut_out(%map: !map, %rows: !rows) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = nvgpu.warpgroup.generate.descriptor %rows, %map : !rows, !map -> !a
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
    %next = gpux.wgmma %a, %a, %zero {transpose_b} : !a, !a, !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // In a block of two warpgroups, a thread's number in its own says where its part of the matrix goes. It has 4 of 64x8.
  // CHECK-LABEL: gpu.func @second_warpgroup
  // CHECK-NOT: nvgpu.warpgroup.mma.store
  // CHECK: %[[T:.*]] = gpu.thread_id x
  // CHECK: %[[IN:.*]] = arith.remui %[[T]], %c128
  // CHECK: %[[WARP:.*]] = arith.divui %[[IN]], %c32
  // CHECK: %[[LANE:.*]] = arith.remui %[[IN]], %c32
  // CHECK: %[[QUAD:.*]] = arith.divui %[[LANE]], %c4
  // CHECK: %[[ROWS:.*]] = arith.muli %[[WARP]], %c16
  // CHECK: %[[ROW:.*]] = arith.addi %[[ROWS]], %[[QUAD]]
  // CHECK: %[[PAIR:.*]] = arith.remui %[[LANE]], %c4
  // CHECK: %[[COLUMN:.*]] = arith.muli %[[PAIR]], %c2
  // CHECK: memref.store %{{.*}}, %arg{{.*}}[%[[ROW]], %[[COLUMN]]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[COLUMN]], %c1
  // CHECK: memref.store %{{.*}}, %arg{{.*}}[%[[ROW]], %[[NEXT]]]
  // CHECK: %[[BELOW:.*]] = arith.addi %[[ROW]], %c8
  // CHECK: memref.store %{{.*}}, %arg{{.*}}[%[[BELOW]], %[[COLUMN]]]
  // CHECK: memref.store %{{.*}}, %arg{{.*}}[%{{.*}}, %{{.*}}]
  // CHECK-NOT: memref.store
  gpu.func @second_warpgroup(%map: !map, %out: memref<64x8xf32>) workgroup(%a: memref<64x64xf16, #gpu.address_space<workgroup>>, %b: memref<8x64xf16, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : memref<64x64xf16, #gpu.address_space<workgroup>>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : memref<8x64xf16, #gpu.address_space<workgroup>>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<8x64xf16, #gpu.address_space<workgroup>>>
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
    %next = gpux.wgmma %da, %db, %zero {transpose_b} : !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>, !nvgpu.warpgroup.descriptor<tensor = memref<8x64xf16, #gpu.address_space<workgroup>>>, !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    nvgpu.warpgroup.mma.store %next, %out : !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>> to memref<64x8xf32>
    gpu.return
  }
}
