// Phases that are never live together share mbarriers, but only where a barrier lies between in any case: without one, a slow
// thread could still wait for the first phase when the second is armed.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - --arg 0=8x64:random --arg 1=5 | FileCheck %s --check-prefix=CLEAN

!global = memref<?x64xf32>
!at = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CLEAN: barrier_between: clean
  // CLEAN: no_barrier_between: clean
  // CLEAN: both_live: clean
  // CLEAN: one_slot_more: clean
  // CLEAN: first_awaited_before: clean
  // CLEAN: loops_in_a_loop: clean

  // The second phase of the same mbarrier has parity 1.
  //
  // CHECK-LABEL: gpu.func @barrier_between
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %true
  gpu.func @barrier_between(%x: !global, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %t = gpux.bulk_load async %from, %a : !at to !row
    async.await %t
    gpu.barrier
    %u = gpux.bulk_load async %from, %b : !at to !row
    async.await %u
    gpu.return
  }

  // No barrier is made for that alone. The two that there are stand after the initialization and before the end.
  //
  // CHECK-LABEL: gpu.func @no_barrier_between
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create
  // CHECK: %[[N:.*]] = nvgpu.mbarrier.create
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  // CHECK-NOT: gpu.barrier
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[N]][%c0], %false
  // CHECK-NEXT: gpu.barrier
  gpu.func @no_barrier_between(%x: !global, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %t = gpux.bulk_load async %from, %a : !at to !row
    async.await %t
    %u = gpux.bulk_load async %from, %b : !at to !row
    async.await %u
    gpu.return
  }

  // The first is awaited after the barrier, when the second has been issued.
  //
  // CHECK-LABEL: gpu.func @both_live
  // CHECK-COUNT-2: nvgpu.mbarrier.create
  gpu.func @both_live(%x: !global, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %t = gpux.bulk_load async %from, %a : !at to !row
    gpu.barrier
    %u = gpux.bulk_load async %from, %b : !at to !row
    async.await %u
    async.await %t
    gpu.return
  }

  // On one mbarrier, the barrier of an iteration would not lie between its wait and the next phase, and a second one would have
  // to be made. On two, it lies between the wait and the phase after the next.
  //
  // CHECK-LABEL: gpu.func @one_slot_more
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.for
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.bulk_load
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: gpu.barrier
  // CHECK: }
  gpu.func @one_slot_more(%x: !global, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %t = gpux.bulk_load async %from, %a : !at to !row
      gpu.barrier
      async.await %t
    }
    gpu.return
  }

  // A load that is awaited before the loop takes its turn with those of the loop: at most two are live together, and three
  // mbarriers would be one too many.
  //
  // CHECK-LABEL: gpu.func @first_awaited_before
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK-NOT: nvgpu.mbarrier.create
  gpu.func @first_awaited_before(%x: !global, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %first = gpux.bulk_load async %from, %a : !at to !row
    %second = gpux.bulk_load async %from, %b : !at to !row
    async.await %first
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %second) -> (!async.token) {
      gpu.barrier
      async.await %t
      %next = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %u = gpux.bulk_load async %next, %b : !at to !row
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // Two loops in a loop: each load has a barrier before it, for what threads have read of the buffer, and so none of the
  // other loop's phases is waited for when it is armed.
  //
  // CHECK-LABEL: gpu.func @loops_in_a_loop
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: nvgpu.mbarrier.create
  gpu.func @loops_in_a_loop(%x: !global, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    scf.for %tile = %c0 to %n step %c1 {
      scf.for %i = %c0 to %n step %c1 {
        %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
        %t = gpux.bulk_load async %from, %a : !at to !row
        async.await %t
        %v = memref.load %a[%tid] : !row
        gpu.printf "%f", %v : f32
      }
      scf.for %i = %c0 to %n step %c1 {
        %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
        %t = gpux.bulk_load async %from, %a : !at to !row
        async.await %t
        %v = memref.load %a[%tid] : !row
        gpu.printf "%f", %v : f32
      }
    }
    gpu.return
  }
}
