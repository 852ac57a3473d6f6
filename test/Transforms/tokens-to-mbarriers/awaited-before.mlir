// What has been awaited on every way is not waited for again.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --arg 2=0 --arg 3=1 | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t --arg 2=3 --arg 3=0 | FileCheck %s --check-prefix=CLEAN

// CLEAN: behind_a_loop_that_runs: clean
// CLEAN: behind_a_loop_that_may_not_run: clean
// CLEAN: behind_the_loop_it_is_handed_to: clean
// CLEAN: before_what_comes_out: clean
// CLEAN: in_both_arms: clean
// CLEAN: in_one_arm: clean

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!t = !async.token

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @behind_a_loop_that_runs
  // CHECK: scf.for
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity
  // CHECK: }
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @behind_a_loop_that_runs(%x: !line, %y: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.for %i = %c0 to %c4 step %c1 {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
    }
    async.await %t
    gpu.return
  }

  // CHECK-LABEL: gpu.func @behind_a_loop_that_may_not_run
  // CHECK: scf.for
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity
  // CHECK: }
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @behind_a_loop_that_may_not_run(%x: !line, %y: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.for %i = %c0 to %n step %c1 {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
    }
    async.await %t
    gpu.return
  }

  // The first iteration awaits it, and if there is none, it is what comes out. So it does not outlive the loads of the loop: one
  // mbarrier, one wait in the loop, one after it, and no remark.
  //
  // CHECK-LABEL: gpu.func @behind_the_loop_it_is_handed_to
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: try_wait
  // CHECK: scf.for
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpux.bulk_load
  // CHECK: }
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @behind_the_loop_it_is_handed_to(%x: !line, %y: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> !t {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !t
    }
    async.await %t0, %last
    gpu.return
  }

  // Awaited before what comes out is, it may not have been awaited yet: it would outlive any number of loads.
  //
  // CHECK-LABEL: gpu.func @before_what_comes_out
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: scf.for
  gpu.func @before_what_comes_out(%x: !line, %y: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    // expected-remark@below {{this load is awaited right here}}
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> !t {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
      // expected-remark@below {{this load is awaited right here}}
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !t
    }
    async.await %t0
    async.await %last
    gpu.return
  }

  // CHECK-LABEL: gpu.func @in_both_arms
  // CHECK-COUNT-2: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @in_both_arms(%x: !line, %y: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %p {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
    } else {
      async.await %t
    }
    async.await %t
    gpu.return
  }

  // CHECK-LABEL: gpu.func @in_one_arm
  // CHECK-COUNT-2: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @in_one_arm(%x: !line, %y: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %p {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
    }
    async.await %t
    gpu.return
  }
}
