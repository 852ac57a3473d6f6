// With war=mbarrier, threads arrive at an mbarrier where they are done with what a load overwrites, and go on; only the thread
// that issues waits for all of them.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier -o %t
// RUN: async-sim %t --kernel=ring --arg 0=16x64:random --arg 1=16x64:zero --arg 2=7 | FileCheck %s --check-prefix=RING
// RUN: async-sim %t --kernel=ring --arg 0=16x64:random --arg 1=16x64:zero --arg 2=0 | FileCheck %s --check-prefix=RING
// RUN: async-sim %t --kernel=far_ahead --arg 1=5 | FileCheck %s --check-prefix=AHEAD
// RUN: async-sim %t --kernel=any_block_size --block=32,2 | FileCheck %s --check-prefix=SIZE
// RUN: async-sim %t --kernel=written | FileCheck %s --check-prefix=WRITTEN

!global = memref<?x64xf32>
!at = memref<64xf32, strided<[1], offset: ?>>
!two_at = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!two = memref<2x64xf32, #gpu.address_space<workgroup>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // 64 threads arrive. There is no barrier of the block in the loop. Nor does a thread wait before it arrives: it has waited
  // for the load before last, which was issued when all had arrived two iterations ago.
  //
  // CHECK-LABEL: gpu.func @ring
  // CHECK: %[[LEADER:.*]] = gpux.elect
  // CHECK: %[[FULL:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK: nvgpu.mbarrier.init %[[FULL]][%c0], %c1, predicate = %[[LEADER]]
  // CHECK: %[[EMPTY:.*]] = nvgpu.mbarrier.create
  // CHECK: nvgpu.mbarrier.init %[[EMPTY]][%c0], %c64, predicate = %[[LEADER]]
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK: scf.for
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: try_wait
  // CHECK: %{{.*}} = nvgpu.mbarrier.arrive %[[EMPTY]]
  // CHECK: scf.if %[[LEADER]] {
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[FULL]]
  // CHECK-NEXT: gpux.bulk_load
  // CHECK-NEXT: }
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[FULL]]
  // CHECK-NOT: gpu.barrier
  // CHECK: memref.store
  // CHECK-NEXT: }
  //
  // RING: ring: clean
  gpu.func @ring(%x: !global, %y: !global, %n: index) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !two to !two_at
    %t0 = gpux.bulk_load async %from0, %to0 : !at to !two_at
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> (!async.token) {
      %next = arith.addi %i, %c1 : index
      %free = arith.remui %next, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !at
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !two to !two_at
      %u = gpux.bulk_load async %from, %to : !at to !two_at
      async.await %t
      %full = arith.remui %i, %c2 : index
      %v = memref.load %buf[%full, %tid] : !two
      memref.store %v, %y[%i, %tid] : !global
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // Nobody but one thread waits for a load before the next one: the others have to wait before they arrive, or they would be
  // ahead by more than there are mbarriers.
  //
  // CHECK-LABEL: gpu.func @far_ahead
  // CHECK: %[[FULL:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK: %[[EMPTY:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK: scf.for
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
  // CHECK-NEXT: %{{.*}} = nvgpu.mbarrier.arrive %[[EMPTY]]
  // CHECK: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[FULL]]
  //
  // AHEAD: far_ahead: clean
  gpu.func @far_ahead(%x: !line, %n: index) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    scf.for %i = %c0 to %n step %c1 {
      %t = gpux.bulk_load async %x, %a : !line to !row
      scf.if %one {
        async.await %t
      }
    }
    gpu.return
  }

  // Where the size of the block is not known, the program computes it.
  //
  // CHECK-LABEL: gpu.func @any_block_size
  // CHECK: %[[X:.*]] = gpu.block_dim x
  // CHECK-NEXT: %[[Y:.*]] = gpu.block_dim y
  // CHECK-NEXT: %[[XY:.*]] = arith.muli %[[X]], %[[Y]] : index
  // CHECK-NEXT: %[[Z:.*]] = gpu.block_dim z
  // CHECK-NEXT: %[[ALL:.*]] = arith.muli %[[XY]], %[[Z]] : index
  // CHECK: nvgpu.mbarrier.init %{{.*}}[%c0], %[[ALL]],
  //
  // SIZE: any_block_size: clean
  gpu.func @any_block_size(%x: !line, %y: memref<32x64xf32>) workgroup(%a: !row) kernel {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %v = memref.load %a[%ty] : !row
    memref.store %v, %y[%tx, %ty] : memref<32x64xf32>
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }

  // Every thread fences what it has written before it arrives.
  //
  // CHECK-LABEL: gpu.func @written
  // CHECK: memref.store
  // CHECK-NOT: gpu.barrier
  // CHECK: nvvm.fence.proxy
  // CHECK: %{{.*}} = nvgpu.mbarrier.arrive %[[EMPTY:[a-z0-9_]+]]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx
  //
  // WRITTEN: written: clean
  gpu.func @written(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %v = memref.load %a[%tid] : !row
    memref.store %v, %a[%tid] : !row
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }
}
