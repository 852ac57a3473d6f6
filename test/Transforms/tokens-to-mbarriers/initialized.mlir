// Threads must not touch an mbarrier before it is initialized. They meet right after the initialization, unless they meet for
// another reason before the first of them waits.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier --canonicalize --cse | FileCheck %s --check-prefix=WAR
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier -o %t.war
// RUN: async-sim %t --arg 1=2 | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t.war --arg 1=2 | FileCheck %s --check-prefix=CLEAN

// CLEAN: waited_for_at_once: clean
// CLEAN: guarded: clean
// CLEAN: barrier_of_the_program: clean
// CLEAN: barrier_in_a_loop: clean
// CLEAN: barrier_on_some_ways: clean

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @waited_for_at_once
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if
  gpu.func @waited_for_at_once(%x: !line, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }

  // The load needs a barrier after what is written. With war=mbarrier threads arrive at an mbarrier there.
  //
  // CHECK-LABEL: gpu.func @guarded
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if
  //
  // WAR-LABEL: gpu.func @guarded
  // WAR: nvvm.fence.mbarrier.init
  // WAR-NEXT: gpu.barrier
  // WAR-NEXT: nvvm.fence.proxy
  // WAR-NEXT: nvgpu.mbarrier.arrive %
  gpu.func @guarded(%x: !line, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %f = arith.constant 1.0 : f32
    %tid = gpu.thread_id x
    memref.store %f, %a[%tid] : !row
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }

  // CHECK-LABEL: gpu.func @barrier_of_the_program
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: scf.if
  // CHECK: gpux.bulk_load
  // CHECK: gpu.barrier
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity
  //
  // WAR-LABEL: gpu.func @barrier_of_the_program
  // WAR: nvvm.fence.mbarrier.init
  // WAR-NEXT: scf.if
  gpu.func @barrier_of_the_program(%x: !line, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    gpu.barrier
    async.await %t
    gpu.return
  }

  // A loop that surely runs.
  //
  // CHECK-LABEL: gpu.func @barrier_in_a_loop
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: scf.if
  // CHECK: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: }
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity
  gpu.func @barrier_in_a_loop(%x: !line, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.for %i = %c0 to %c4 step %c1 {
      gpu.barrier
    }
    async.await %t
    gpu.return
  }

  // CHECK-LABEL: gpu.func @barrier_on_some_ways
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if
  gpu.func @barrier_on_some_ways(%x: !line, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.for %i = %c0 to %n step %c1 {
      gpu.barrier
    }
    async.await %t
    gpu.return
  }
}
