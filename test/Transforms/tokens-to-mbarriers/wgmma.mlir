// A multiplication of a warpgroup reads its matrices until it is awaited: what it reads is loaded anew only after that, once all threads
// have come so far. With war=mbarrier, they arrive after their await, and do not wait themselves.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier | FileCheck %s --check-prefix=EMPTY
// RUN: async-opt %s --gpux-tokens-to-mbarriers=fence-reads | FileCheck %s

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!tiles = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!in_slot = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @kernels {
  // The barrier of the program comes too early: what is read by then is not over.
  // CHECK-LABEL: gpu.func @awaited_after_a_barrier
  // CHECK: gpux.wgmma async
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: async.await
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.tma_load
  gpu.func @awaited_after_a_barrier(%map: !map) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %first
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %d, %t = gpux.wgmma async %da, %da, %c : !matrix, !matrix, !acc
    gpu.barrier
    async.await %t
    %again = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %again
    gpu.return
  }

  // Another buffer is another matter: nobody waits for anything.
  // CHECK-LABEL: gpu.func @another_buffer
  // CHECK: gpux.wgmma async
  // CHECK-NEXT: async.await
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.tma_load
  gpu.func @another_buffer(%map: !map) workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %first
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %d, %t = gpux.wgmma async %da, %da, %c : !matrix, !matrix, !acc
    async.await %t
    %again = gpux.tma_load async %map[%c0, %c0], %b : !map, !tile
    async.await %again
    gpu.return
  }

  // The token goes around the loop: the products of a step are awaited in the next one, and its slot is filled again after that.
  // CHECK-LABEL: gpu.func @steps
  // CHECK: scf.for
  // CHECK: mbarrier.try_wait.parity
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.wgmma async
  // CHECK-NEXT: async.await
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.tma_load
  // CHECK: scf.yield
  // EMPTY-LABEL: gpu.func @steps
  // EMPTY: scf.for
  // EMPTY: mbarrier.try_wait.parity
  // EMPTY-NOT: {{gpu.barrier|mbarrier.arrive }}
  // EMPTY: gpux.wgmma async
  // EMPTY-NEXT: async.await
  // EMPTY: nvgpu.mbarrier.arrive %
  // EMPTY: scf.if
  // EMPTY-NEXT: mbarrier.try_wait.parity
  // EMPTY-NOT: gpu.barrier
  // EMPTY: gpux.tma_load
  // EMPTY: scf.yield
  gpu.func @steps(%map: !map, %n: index) workgroup(%as: !tiles) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %ready = async.ready
    %a0 = memref.subview %as[0, 0, 0] [1, 64, 64] [1, 1, 1] : !tiles to memref<64x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %first = gpux.tma_load async %map[%c0, %c0], %a0 : !map, memref<64x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %d, %last, %loaded = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c, %before = %ready, %full = %first) -> (!acc, !async.token, !async.token) {
      %this = arith.andi %i, %c1 : index
      %other = arith.subi %c1, %this : index
      %a = memref.subview %as[%this, 0, 0] [1, 64, 64] [1, 1, 1] : !tiles to !slot
      %next = memref.subview %as[%other, 0, 0] [1, 64, 64] [1, 1, 1] : !tiles to !slot
      async.await %full
      %da = nvgpu.warpgroup.generate.descriptor %a, %map : !slot, !map -> !in_slot
      %e, %t = gpux.wgmma async %da, %da, %sum : !in_slot, !in_slot, !acc
      async.await %before
      %refilled = gpux.tma_load async %map[%c0, %c0], %next : !map, !slot
      scf.yield %e, %t, %refilled : !acc, !async.token, !async.token
    }
    async.await %last
    async.await %loaded
    gpu.return
  }

  // A token that is joined with another one, or chosen, may still stand for the multiplication.
  // CHECK-LABEL: gpu.func @joined
  // CHECK: gpux.wgmma async
  // CHECK: gpu.barrier
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: gpux.tma_load
  gpu.func @joined(%map: !map, %p: i1) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %first
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %d, %t = gpux.wgmma async %da, %da, %c : !matrix, !matrix, !acc
    %ready = async.ready
    %chosen = scf.if %p -> !async.token {
      %joined = async.join %ready, %t
      scf.yield %joined : !async.token
    } else {
      scf.yield %t : !async.token
    }
    gpu.barrier
    async.await %chosen
    %again = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %again
    gpu.return
  }
}
