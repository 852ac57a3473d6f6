// Where a loop goes in steps of a power of two, its iteration is computed from its induction variable, and how often it runs from its
// bounds, rounded up. In other steps, phases are counted.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - --kernel=steps_of_two --arg 0=64x8:ramp --arg 1=7 --print | FileCheck %s --check-prefix=CLEAN
//
// CLEAN: steps_of_two: clean

!src = memref<64x8xf32>
!line = memref<8xf32, strided<[1], offset: ?>>
!dst = memref<8xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @steps_of_two
  // CHECK: scf.for %[[I:.*]] = %[[C1:.*]] to %[[N:.*]] step %[[C2:.*]] {
  // CHECK: %[[DISTANCE:.*]] = arith.subi %[[I]], %[[C1]]
  // CHECK: %[[ITERATION:.*]] = arith.divui %[[DISTANCE]], %[[C2]]
  // CHECK: arith.remui %[[ITERATION]], %[[C2]]
  // CHECK: %[[ALL:.*]] = arith.subi %[[N]], %[[C1]]
  // CHECK: %[[SOME:.*]] = arith.maxsi %[[ALL]]
  // CHECK: %[[TRIPS:.*]] = arith.ceildivui %[[SOME]], %[[C2]]
  // CHECK: arith.remui %[[TRIPS]], %[[C2]]
  // CHECK: nvgpu.mbarrier.try_wait.parity
  gpu.func @steps_of_two(%src: !src, %n: index) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %row = memref.subview %src[%c0, 0] [1, 8] [1, 1] : !src to !line
    %first = gpux.bulk_load async %row, %dst : !line to !dst
    %last = scf.for %i = %c1 to %n step %c2 iter_args(%t = %first) -> !async.token {
      async.await %t
      %next = memref.subview %src[%i, 0] [1, 8] [1, 1] : !src to !line
      %u = gpux.bulk_load async %next, %dst : !line to !dst
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // CHECK-LABEL: gpu.func @steps_of_three
  // CHECK: scf.for
  // CHECK-SAME: iter_args(%[[COUNTER:.*]] =
  // CHECK-NOT: arith.divui
  // CHECK: gpu.return
  gpu.func @steps_of_three(%src: !src, %n: index) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %n step %c3 {
      %row = memref.subview %src[%i, 0] [1, 8] [1, 1] : !src to !line
      %t = gpux.bulk_load async %row, %dst : !line to !dst
      async.await %t
    }
    gpu.return
  }
}
