// Software pipelines: tokens rotate through a loop's iter_args, and every wait forces what it names and nothing younger.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='drop-implied=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// Two operands, three stages in flight, awaited at different places.
// CHECK-LABEL: func.func @two_operands
// CHECK-COUNT-6: gpux.commit_group <cp_async>
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 5
// CHECK-NEXT: "test.use_a"
// CHECK-NEXT: gpux.wait_group <cp_async>, 4
// CHECK-NEXT: "test.use_b"
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 5
// CHECK-NEXT: gpux.wait_group <cp_async>, 4
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @two_operands(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %left:6 = scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1, %p2 = %a2, %q2 = %b2) -> (!t, !t, !t, !t, !t, !t) {
    async.await %p0
    "test.use_a"() : () -> ()
    async.await %q0
    "test.use_b"() : () -> ()
    %p3 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    %q3 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %p1, %q1, %p2, %q2, %p3, %q3 : !t, !t, !t, !t, !t, !t
  }
  async.await %left#0
  async.await %left#1
  async.await %left#2
  async.await %left#3
  async.await %left#4
  async.await %left#5
  return
}

// The copies come before the awaits, so that two stages less are issued ahead.
// CHECK-LABEL: func.func @copies_before_awaits
// CHECK-COUNT-4: gpux.commit_group <cp_async>
// CHECK: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 5
// CHECK-NEXT: gpux.wait_group <cp_async>, 4
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copies_before_awaits(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %left:4 = scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1) -> (!t, !t, !t, !t) {
    %p2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    %q2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %p0
    async.await %q0
    scf.yield %p1, %q1, %p2, %q2 : !t, !t, !t, !t
  }
  async.await %left#0
  async.await %left#1
  async.await %left#2
  async.await %left#3
  return
}

// A copy between the awaits: one more group after the second operand.
// CHECK-LABEL: func.func @copy_between_awaits
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
func.func @copy_between_awaits(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %left:4 = scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1) -> (!t, !t, !t, !t) {
    async.await %p0
    %p2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %q0
    %q2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %p1, %q1, %p2, %q2 : !t, !t, !t, !t
  }
  async.await %left#3
  return
}
