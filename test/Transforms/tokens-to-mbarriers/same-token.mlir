// A token that can only be one other token is that one, and a token that nobody awaits is none. Neither holds loads together on
// one ring, is carried anywhere, or is waited for.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --arg 2=1 | FileCheck %s --check-prefix=CLEAN

// CLEAN: dead_select: clean
// CLEAN: dead_argument: clean
// CLEAN: both_arms: clean
// CLEAN: carried_as_it_is: clean
// CLEAN: one_of_two: clean

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!t = !async.token

gpu.module @kernels {
  // Both loads are awaited together: one phase of 512 bytes.
  //
  // CHECK-LABEL: gpu.func @dead_select
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK-NOT: arith.select
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}}[%c0], %c512
  // CHECK-NEXT: gpux.bulk_load
  // CHECK-NEXT: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @dead_select(%x: !line, %z: !line, %p: i1) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async %z, %b : !line to !row
    %s = arith.select %p, %t, %u : !t
    async.await %t, %u
    gpu.return
  }

  // What goes around and out, and is not awaited.
  //
  // CHECK-LABEL: gpu.func @dead_argument
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: iter_args
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @dead_argument(%x: !line, %z: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %none = async.ready
    %dead = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %none) -> !t {
      %t = gpux.bulk_load async %x, %a : !line to !row
      async.await %t
      scf.yield %t : !t
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @both_arms
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @both_arms(%x: !line, %y: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %f = arith.constant 1.0 : f32
    %t = gpux.bulk_load async %x, %a : !line to !row
    %s = scf.if %p -> !t {
      memref.store %f, %y[%tid] : !line
      scf.yield %t : !t
    } else {
      scf.yield %t : !t
    }
    async.await %s
    async.await %t
    gpu.return
  }

  // CHECK-LABEL: gpu.func @carried_as_it_is
  // CHECK-NOT: iter_args
  // CHECK-COUNT-1: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  gpu.func @carried_as_it_is(%x: !line, %y: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %tid = gpu.thread_id x
    %f = arith.constant 1.0 : f32
    %t = gpux.bulk_load async %x, %a : !line to !row
    %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%u = %t) -> !t {
      memref.store %f, %y[%tid] : !line
      scf.yield %u : !t
    }
    async.await %s, %t
    gpu.return
  }

  // A choice that somebody waits for is one.
  //
  // CHECK-LABEL: gpu.func @one_of_two
  // CHECK: nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK: arith.select
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: gpu.return
  gpu.func @one_of_two(%x: !line, %z: !line, %p: i1) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async %z, %b : !line to !row
    %s = arith.select %p, %t, %u : !t
    async.await %s
    async.await %t, %u
    gpu.return
  }
}
