// What threads write to workgroup memory, a multiplication reads through another proxy: each thread fences it before the barrier by which
// the others know of it.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!ws = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // One fence, before the barrier; A is not written again, so the second multiplication needs none.
  // CHECK-LABEL: gpu.func @stored
  // CHECK: memref.store
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.wgmma
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpux.wgmma
  // CHECK: gpu.return
  gpu.func @stored(%map: !map, %x: f16) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    memref.store %x, %a[%warp, %lane] : !ws
    gpu.barrier
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    gpu.barrier
    %e, %v = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %v
    gpu.return
  }

  // Without a barrier: what the thread itself has written.
  // CHECK-LABEL: gpu.func @own
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpux.wgmma
  gpu.func @own(%map: !map, %x: f16) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    memref.store %x, %a[%warp, %lane] : !ws
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    gpu.return
  }

  // Another buffer is written; what is written last, nobody multiplies.
  // CHECK-LABEL: gpu.func @not_read
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @not_read(%map: !map, %x: f16) workgroup(%a: !ws {llvm.align = 1024 : i64}, %b: !ws) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    memref.store %x, %b[%warp, %lane] : !ws
    gpu.barrier
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    memref.store %x, %a[%warp, %lane] : !ws
    gpu.barrier
    gpu.return
  }

  // Copies of threads write until they are awaited: the fence comes after that, once in each iteration.
  // CHECK-LABEL: gpu.func @copied
  // CHECK: scf.for
  // CHECK: gpux.wait_group <cp_async>
  // CHECK-NEXT: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.wgmma
  // CHECK: gpux.wait_group <wgmma>
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @copied(%map: !map, %x: memref<4096x64xf16>, %n: index) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %column = arith.muli %warp, %c8 : index
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> !acc {
      %copied = gpux.copy async %x[%i, %column], %a[%lane, %column], 8 : memref<4096x64xf16> to !ws
      async.await %copied
      gpu.barrier
      %d, %u = gpux.wgmma async %da, %da, %sum : !m, !m, !acc
      async.await %u
      gpu.barrier
      scf.yield %d : !acc
    }
    gpu.return
  }

  // Written in an iteration, read in the next one.
  // CHECK-LABEL: gpu.func @next_iteration
  // CHECK: scf.for
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: gpux.wgmma
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @next_iteration(%map: !map, %x: f16, %n: index) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> !acc {
      gpu.barrier
      %d, %u = gpux.wgmma async %da, %da, %sum : !m, !m, !acc
      async.await %u
      memref.store %x, %a[%warp, %lane] : !ws
      scf.yield %d : !acc
    }
    gpu.return
  }

  // The program has its own fence; and so does what is in counted form.
  // CHECK-LABEL: gpu.func @by_hand
  // CHECK-COUNT-1: nvvm.fence.proxy
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @by_hand(%map: !map, %x: f16) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    memref.store %x, %a[%warp, %lane] : !ws
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    gpu.return
  }

  // A barrier of some of the threads, by its number, and an arrival tell others of it as well.
  // CHECK-LABEL: gpu.func @named
  // CHECK: memref.store
  // CHECK-NEXT: nvvm.fence.proxy
  // CHECK-NEXT: nvvm.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: memref.store
  // CHECK-NEXT: nvvm.fence.proxy
  // CHECK-NEXT: nvvm.barrier.arrive
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: memref.store
  // CHECK-NEXT: nvvm.fence.proxy
  // CHECK-NEXT: nvgpu.mbarrier.arrive
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @named(%map: !map, %x: f16, %full: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>, %p: i1) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %threads = arith.constant 128 : i32
    %all = arith.constant 256 : i32
    memref.store %x, %a[%warp, %lane] : !ws
    nvvm.barrier id = %one number_of_threads = %threads
    memref.store %x, %a[%lane, %warp] : !ws
    nvvm.barrier.arrive id = %two number_of_threads = %all
    memref.store %x, %a[%warp, %lane] : !ws
    %arrived = nvgpu.mbarrier.arrive %full[%c0] : <memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    gpu.return
  }

  // A copy to another buffer, and a load of A that the TMA engine writes by an mbarrier: there is nothing to fence.
  // CHECK-LABEL: gpu.func @loaded
  // CHECK: gpux.wait_group <cp_async>
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @loaded(%map: !map, %x: memref<4096xf32>, %full: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>) workgroup(%a: !ws {llvm.align = 1024 : i64}, %b: memref<128xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %lane = gpu.lane_id
    gpux.tma_load %map[%c0, %c0], %a, %full[%c0] : !map, !ws, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %copied = gpux.copy async %x[%lane], %b[%lane], 4 : memref<4096xf32> to memref<128xf32, #gpu.address_space<workgroup>>
    async.await %copied
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    gpu.return
  }
}
