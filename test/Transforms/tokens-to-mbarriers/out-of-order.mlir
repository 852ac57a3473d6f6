// A rotation may begin with loads in another order than they were issued in. Their phases are numbered as they are awaited, so that
// none is older than need be: a ring is as deep as phases of it are live.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier -o %t.war
// RUN: async-sim %t --arg 0=24x64:random --arg 1=24x64:zero --arg 2=0 | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t --arg 0=24x64:random --arg 1=24x64:zero --arg 2=20 --schedule=random --runs=3 | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t.war --arg 0=24x64:random --arg 1=24x64:zero --arg 2=20 | FileCheck %s --check-prefix=CLEAN

// CLEAN: three_of_three: clean
// CLEAN: two_of_two: clean
// CLEAN: in_each_round: clean
// CLEAN: awaited_in_between: clean

!global = memref<?x64xf32>
!line = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!t = !async.token

gpu.module @kernels {
  // The second load is awaited first: it is phase 0, and the first one phase 1. The loop goes on with phase 3.
  //
  // CHECK-LABEL: gpu.func @three_of_three
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c1]
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c0]
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c2]
  // CHECK: scf.for {{.*}}%[[NEXT:[a-z0-9]+]] = %c3_i32, %[[P:[a-z0-9]+]] = %c0_i32, %[[Q:[a-z0-9]+]] = %c1_i32, %[[R:[a-z0-9]+]] = %c2_i32)
  gpu.func @three_of_three(%x: !global, %y: !global, %n: index) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %tid = gpu.thread_id x
    %x0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %x1 = memref.subview %x[%c1, 0] [1, 64] [1, 1] : !global to !line
    %x2 = memref.subview %x[%c2, 0] [1, 64] [1, 1] : !global to !line
    %t0 = gpux.bulk_load async %x0, %a : !line to !row
    %t1 = gpux.bulk_load async %x1, %b : !line to !row
    %t2 = gpux.bulk_load async %x2, %c : !line to !row
    %last:6 = scf.for %i = %c0 to %n step %c1
        iter_args(%p = %t1, %q = %t0, %r = %t2, %at_p = %b, %at_q = %a, %at_r = %c) -> (!t, !t, !t, !row, !row, !row) {
      async.await %p
      %v = memref.load %at_p[%tid] : !row
      memref.store %v, %y[%i, %tid] : !global
      %next = arith.addi %i, %c3 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
      %u = gpux.bulk_load async %from, %at_p : !line to !row
      scf.yield %q, %r, %u, %at_q, %at_r, %at_p : !t, !t, !t, !row, !row, !row
    }
    async.await %last#0, %last#1, %last#2
    gpu.return
  }

  // CHECK-LABEL: gpu.func @two_of_two
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c1]
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c0]
  gpu.func @two_of_two(%x: !global, %y: !global, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %x0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %x1 = memref.subview %x[%c1, 0] [1, 64] [1, 1] : !global to !line
    %t0 = gpux.bulk_load async %x0, %a : !line to !row
    %t1 = gpux.bulk_load async %x1, %b : !line to !row
    %last:4 = scf.for %i = %c0 to %n step %c1
        iter_args(%p = %t1, %q = %t0, %at_p = %b, %at_q = %a) -> (!t, !t, !row, !row) {
      async.await %p
      %v = memref.load %at_p[%tid] : !row
      memref.store %v, %y[%i, %tid] : !global
      %next = arith.addi %i, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
      %u = gpux.bulk_load async %from, %at_p : !line to !row
      scf.yield %q, %u, %at_q, %at_p : !t, !t, !row, !row
    }
    async.await %last#0, %last#1
    gpu.return
  }

  // Around it a loop, in which the count goes on.
  //
  // CHECK-LABEL: gpu.func @in_each_round
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: gpu.return
  gpu.func @in_each_round(%x: !global, %y: !global, %n: index) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %tid = gpu.thread_id x
    %x0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    scf.for %j = %c0 to %c3 step %c1 {
      gpu.barrier
      %t0 = gpux.bulk_load async %x0, %a : !line to !row
      %t1 = gpux.bulk_load async %x0, %b : !line to !row
      %t2 = gpux.bulk_load async %x0, %c : !line to !row
      %last:6 = scf.for %i = %c0 to %n step %c1
          iter_args(%p = %t1, %q = %t0, %r = %t2, %at_p = %b, %at_q = %a, %at_r = %c) -> (!t, !t, !t, !row, !row, !row) {
        async.await %p
        %v = memref.load %at_p[%tid] : !row
        memref.store %v, %y[%i, %tid] : !global
        %next = arith.addi %i, %c3 : index
        %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
        %u = gpux.bulk_load async %from, %at_p : !line to !row
        scf.yield %q, %r, %u, %at_q, %at_r, %at_p : !t, !t, !t, !row, !row, !row
      }
      async.await %last#0, %last#1, %last#2
    }
    gpu.return
  }

  // What is awaited between the loads had its number by then. The others keep the order in which they are issued: the second load
  // is one phase older than need be where it is awaited, and there are three mbarriers.
  //
  // CHECK-LABEL: gpu.func @awaited_in_between
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c0]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]][%c0]
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c1]
  gpu.func @awaited_in_between(%x: !global, %y: !global, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %c2 = arith.constant 2 : index
    %x0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %t0 = gpux.bulk_load async %x0, %a : !line to !row
    async.await %t0
    %t1 = gpux.bulk_load async %x0, %b : !line to !row
    %last:4 = scf.for %i = %c0 to %n step %c1
        iter_args(%p = %t1, %q = %t0, %at_p = %b, %at_q = %a) -> (!t, !t, !row, !row) {
      async.await %p
      %next = arith.addi %i, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
      gpu.barrier
      %u = gpux.bulk_load async %from, %at_p : !line to !row
      scf.yield %q, %u, %at_q, %at_p : !t, !t, !row, !row
    }
    async.await %last#0, %last#1
    gpu.return
  }
}
