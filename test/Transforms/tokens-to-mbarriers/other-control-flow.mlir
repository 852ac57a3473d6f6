// Loops of other kinds, and what else has regions.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --kernel=switch --arg 1=0 | FileCheck %s --check-prefix=SWITCH
// RUN: async-sim %t --kernel=switch --arg 1=1 | FileCheck %s --check-prefix=SWITCH
// RUN: async-sim %t --kernel=before_the_condition --arg 1=3 | FileCheck %s --check-prefix=BEFORE
// RUN: async-sim %t --kernel=narrow_counter --arg 1=3 | FileCheck %s --check-prefix=NARROW
// RUN: async-sim %t --kernel=narrow_counter --arg 1=-9 | FileCheck %s --check-prefix=NARROW
// RUN: async-sim %t --kernel=affine_loop | FileCheck %s --check-prefix=AFFINE
// RUN: async-sim %t --kernel=region | FileCheck %s --check-prefix=REGION
// RUN: async-sim %t --kernel=swapped --arg 1=4 | FileCheck %s --check-prefix=SWAPPED
// RUN: async-sim %t --kernel=swapped --arg 1=5 | FileCheck %s --check-prefix=SWAPPED
// RUN: async-sim %t --kernel=handed_on_for_nothing --arg 1=3 --arg 2=1 | FileCheck %s --check-prefix=NOTHING
// RUN: async-sim %t --kernel=some_threads_await | FileCheck %s --check-prefix=SOME

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // SWITCH: switch: clean
  //
  // CHECK-LABEL: gpu.func @switch
  // CHECK: scf.index_switch
  // CHECK: nvvm.mbarrier.expect_tx
  // CHECK: nvgpu.mbarrier.arrive %[[M:[a-z0-9]+]]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]]
  gpu.func @switch(%x: !line, %i: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = scf.index_switch %i -> !async.token
    case 0 {
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    }
    default {
      %u = async.ready
      scf.yield %u : !async.token
    }
    async.await %t
    gpu.return
  }

  // The condition's region runs once more than the other: the count is handed on by both.
  //
  // BEFORE: before_the_condition: clean
  //
  // CHECK-LABEL: gpu.func @before_the_condition
  // CHECK: scf.while
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK: scf.condition
  // CHECK: } do {
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: scf.yield
  // CHECK: nvgpu.mbarrier.try_wait.parity
  gpu.func @before_the_condition(%x: !line, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %last:2 = scf.while (%i = %c0) : (index) -> (index, !async.token) {
      %t = gpux.bulk_load async %x, %a : !line to !row
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %i, %t : index, !async.token
    } do {
    ^bb0(%i: index, %t: !async.token):
      async.await %t
      %next = arith.addi %i, %c1 : index
      scf.yield %next : index
    }
    async.await %last#1
    gpu.return
  }

  // The induction variable is an i32 that begins below 0. From -5 to 3 the loop runs 8 times, to -9 not at all.
  //
  // NARROW: narrow_counter: clean
  //
  // CHECK-LABEL: gpu.func @narrow_counter
  // CHECK: scf.for
  // CHECK: arith.index_cast %{{.*}} : i32 to index
  // CHECK: nvgpu.mbarrier.try_wait.parity
  gpu.func @narrow_counter(%x: !line, %n: i32) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %first = arith.constant -5 : i32
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %last = scf.for %i = %first to %n step %c1 iter_args(%t = %t0) -> (!async.token) : i32 {
      async.await %t
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // AFFINE: affine_loop: clean
  //
  // CHECK-LABEL: gpu.func @affine_loop
  // CHECK: affine.for %{{.*}} = 0 to 10 step 3
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK: }
  // CHECK: nvgpu.mbarrier.try_wait.parity
  gpu.func @affine_loop(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %last = affine.for %i = 0 to 10 step 3 iter_args(%t = %t0) -> (!async.token) {
      async.await %t
      %u = gpux.bulk_load async %x, %a : !line to !row
      affine.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // In device code a region is issued in place, and its token is the join of those that it yields: one phase.
  //
  // REGION: region: clean
  //
  // CHECK-LABEL: gpu.func @region
  // CHECK-NOT: async.region
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M:[a-z0-9]+]][%c0], %c512
  // CHECK-COUNT-2: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]]
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @region(%x: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = async.region {
      %u = gpux.bulk_load async %x, %a : !line to !row
      %v = gpux.bulk_load async %x, %b : !line to !row
      async.yield %u, %v : !async.token, !async.token
    }
    async.await %t
    gpu.return
  }

  // Which of the two is awaited depends on the number of iterations.
  //
  // SWAPPED: swapped: clean
  //
  // CHECK-LABEL: gpu.func @swapped
  // CHECK: num_barriers = 2
  // CHECK: scf.for {{.*}}, i32, i32) {
  // CHECK-NEXT: scf.yield {{.*}}, i32, i32
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: memref.load
  gpu.func @swapped(%x: !line, %n: index, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %t1 = gpux.bulk_load async %x, %b : !line to !row
    %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %t1, %v = %a, %w = %b)
        -> (!async.token, !async.token, !row, !row) {
      scf.yield %u, %t, %w, %v : !async.token, !async.token, !row, !row
    }
    async.await %r#0
    %v = memref.load %r#2[%tid] : !row
    memref.store %v, %y[%tid] : !line
    gpu.return
  }

  // After the last load and the last await, a token may still be handed on, to nobody.
  //
  // NOTHING: handed_on_for_nothing: clean
  //
  // CHECK-LABEL: gpu.func @handed_on_for_nothing
  // CHECK: scf.for
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: gpu.barrier
  // CHECK: nvvm.mbarrier.inval
  gpu.func @handed_on_for_nothing(%x: !line, %n: index, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = async.ready
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%t = %none) -> (!async.token) {
      async.await %t
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    }
    %t = scf.if %p -> (!async.token) {
      scf.yield %last : !async.token
    } else {
      scf.yield %last : !async.token
    }
    gpu.return
  }

  // Loads are for all threads, awaits for those that need what was loaded.
  //
  // SOME: some_threads_await: clean
  //
  // CHECK-LABEL: gpu.func @some_threads_await
  // CHECK: scf.for
  // CHECK: gpux.bulk_load
  // CHECK: scf.if
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: memref.load
  gpu.func @some_threads_await(%x: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %tid = gpu.thread_id x
    %first_warp = arith.cmpi ult, %tid, %c32 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gpux.bulk_load async %x, %a : !line to !row
      scf.if %first_warp {
        async.await %t
        %v = memref.load %a[%tid] : !row
        memref.store %v, %y[%tid] : !line
      }
      gpu.barrier
    }
    gpu.return
  }
}
