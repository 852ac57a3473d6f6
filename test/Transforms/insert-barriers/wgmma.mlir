// A multiplication of a warpgroup reads the matrices that its descriptors are made of, and nothing else, until it is awaited.
//
// RUN: async-opt %s --gpux-insert-barriers --split-input-file --verify-diagnostics | FileCheck %s

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// What is written to another buffer meanwhile is no business of it. What is written to one of its own has to come after the await, of
// all threads.
// CHECK-LABEL: gpu.func @buffers
// CHECK: gpux.wgmma async
// CHECK-NEXT: memref.store
// CHECK-NEXT: async.await
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK-NOT: gpu.barrier
gpu.module @kernels {
  // expected-remark @+1 {{dropped 0 barriers, inserted 1}}
  gpu.func @buffers(%map: !map) workgroup(%a: !tile, %b: !tile, %other: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %row = arith.divui %t, %c64 : index
    %column = arith.remui %t, %c64 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : !tile, !map -> !matrix
    %d, %token = gpux.wgmma async %da, %db, %c : !matrix, !matrix, !acc
    memref.store %v, %other[%row, %column] : !tile
    async.await %token
    memref.store %v, %b[%row, %column] : !tile
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// A barrier between the multiplication and its await does not order what it reads with what comes after: it goes.
// CHECK-LABEL: gpu.func @too_early
// CHECK: gpux.wgmma async
// CHECK-NEXT: async.await
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
gpu.module @kernels {
  // expected-remark @+1 {{dropped 1 barrier, inserted 1}}
  gpu.func @too_early(%map: !map) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f16
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %row = arith.divui %t, %c64 : index
    %column = arith.remui %t, %c64 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %d, %token = gpux.wgmma async %da, %da, %c : !matrix, !matrix, !acc
    gpu.barrier
    async.await %token
    memref.store %v, %a[%row, %column] : !tile
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// No barrier orders a write with what is still being read.
gpu.module @kernels {
  gpu.func @in_flight(%map: !map) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f16
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %row = arith.divui %t, %c64 : index
    %column = arith.remui %t, %c64 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    // expected-note @+2 {{the other access, which is not complete: await its token before}}
    // expected-error @+2 {{accesses memory of the workgroup that another thread accesses at the same time}}
    %d, %token = gpux.wgmma async %da, %da, %c : !matrix, !matrix, !acc
    memref.store %v, %a[%row, %column] : !tile
    async.await %token
    gpu.return
  }
}

// -----

!tiles = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// Three slots: while one is multiplied, and another one may be, threads copy to the third. The products of a step are awaited in the
// next one, so all threads know of it after the barrier of the one after that, which is there for the copies anyway.
// CHECK-LABEL: gpu.func @slots
// CHECK: scf.for
// CHECK: async.await
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpux.wgmma async
// CHECK-NOT: gpu.barrier
// CHECK: async.await
// CHECK-NOT: gpu.barrier
// CHECK: gpux.copy async
// CHECK-NOT: gpu.barrier
gpu.module @kernels {
  // expected-remark @+1 {{dropped 0 barriers, inserted 1}}
  gpu.func @slots(%map: !map, %in: memref<?x512x8xf16>, %n: index) workgroup(%as: !tiles) kernel attributes {known_block_size = array<i32: 512, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %row = arith.divui %t, %c8 : index
    %chunk = arith.remui %t, %c8 : index
    %column = arith.muli %chunk, %c8 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %ready = async.ready
    %first = gpux.copy async %in[%c0, %t, %c0], %as[%c0, %row, %column], 8 : memref<?x512x8xf16> to !tiles
    %d, %last, %loaded = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c, %before = %ready, %full = %first) -> (!acc, !async.token, !async.token) {
      %slot = arith.remui %i, %c3 : index
      %next = arith.addi %i, %c1 : index
      %to = arith.remui %next, %c3 : index
      async.await %full
      %a = memref.subview %as[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : !tiles to !slot
      %da = nvgpu.warpgroup.generate.descriptor %a, %map : !slot, !map -> !matrix
      %e, %token = gpux.wgmma async %da, %da, %sum : !matrix, !matrix, !acc
      async.await %before
      %copied = gpux.copy async %in[%next, %t, %c0], %as[%to, %row, %column], 8 : memref<?x512x8xf16> to !tiles
      scf.yield %e, %token, %copied : !acc, !async.token, !async.token
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// A descriptor from elsewhere may be of any buffer.
// CHECK-LABEL: gpu.func @unknown
// CHECK: async.await
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
gpu.module @kernels {
  // expected-remark @+1 {{dropped 0 barriers, inserted 1}}
  gpu.func @unknown(%matrix: !matrix) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f16
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %row = arith.divui %t, %c64 : index
    %column = arith.remui %t, %c64 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %token = gpux.wgmma async %matrix, %matrix, %c : !matrix, !matrix, !acc
    async.await %token
    memref.store %v, %a[%row, %column] : !tile
    gpu.return
  }
}
