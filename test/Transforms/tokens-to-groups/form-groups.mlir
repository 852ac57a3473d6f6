// Copies share a group where no await then waits for more than it would with a group for each copy.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups | FileCheck %s --check-prefixes=CHECK,SHARED
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,EACH

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// Awaited together: one group, and a count of 1 in either form.
// CHECK-LABEL: func.func @together
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @together(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a, %b
  async.await %c
  return
}

// Awaited apart: a shared group would have the first await wait for both.
// CHECK-LABEL: func.func @apart
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: "test.use"
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @apart(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a
  "test.use"() : () -> ()
  async.await %b
  return
}

// Three stages of two operands that are awaited together.
// CHECK-LABEL: func.func @pipeline
// SHARED-COUNT-3: gpux.commit_group
// EACH-COUNT-6: gpux.commit_group
// CHECK-NEXT: scf.for
// SHARED-NEXT: gpux.wait_group <cp_async>, 2
// EACH-NEXT: gpux.wait_group <cp_async>, 4
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// SHARED-NEXT: gpux.wait_group <cp_async>, 2
// SHARED-NEXT: gpux.wait_group <cp_async>, 1
// EACH-NEXT: gpux.wait_group <cp_async>, 4
// EACH-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @pipeline(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %left:6 = scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1, %p2 = %a2, %q2 = %b2) -> (!t, !t, !t, !t, !t, !t) {
    async.await %p0, %q0
    %p3 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    %q3 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %p1, %q1, %p2, %q2, %p3, %q3 : !t, !t, !t, !t, !t, !t
  }
  async.await %left#0, %left#1
  async.await %left#2, %left#3
  async.await %left#4, %left#5
  return
}

// The interleaved pipeline of TVM's RFC 0077, whose consumer stands between the two producers. With the prologue's copies in
// one group and the body's in two, as the RFC has it, no single number is right: 3 at first, then 4, then 5. Where the
// body's first copy is committed with the second one, both have one group a stage.
// CHECK-LABEL: func.func @interleaved
// SHARED-COUNT-3: gpux.commit_group
// EACH-COUNT-6: gpux.commit_group
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group
// SHARED-NEXT: gpux.wait_group <cp_async>, 2
// EACH-NEXT: gpux.wait_group <cp_async>, 5
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// SHARED-NEXT: gpux.wait_group <cp_async>, 2
// SHARED-NEXT: gpux.wait_group <cp_async>, 1
// EACH-NEXT: gpux.wait_group <cp_async>, 4
// EACH-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @interleaved(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %left:6 = scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1, %p2 = %a2, %q2 = %b2) -> (!t, !t, !t, !t, !t, !t) {
    %p3 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %p0, %q0
    %q3 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %p1, %q1, %p2, %q2, %p3, %q3 : !t, !t, !t, !t, !t, !t
  }
  async.await %left#0, %left#1
  async.await %left#2, %left#3
  async.await %left#4, %left#5
  return
}

// The body awaits its first operand before it copies the second one: here it can't commit them together, so the prologue
// must not either, even though nothing is awaited between its copies.
// CHECK-LABEL: func.func @prologue_agrees_with_its_body
// CHECK-COUNT-4: gpux.commit_group
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: "test.use"
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @prologue_agrees_with_its_body(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1) -> (!t, !t, !t, !t) {
    async.await %p0
    "test.use"() : () -> ()
    async.await %q0
    %p2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    %q2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %p1, %q1, %p2, %q2 : !t, !t, !t, !t
  }
  return
}

// With `balance`: two operands under one condition make one group, empty where the condition is false.
// CHECK-LABEL: func.func @predicated
// CHECK: scf.for
// SHARED-NEXT: gpux.wait_group <cp_async>, 1
// EACH-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: } else {
// EACH-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @predicated(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) {
  %a0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b0 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %a1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b1 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %n step %i
      iter_args(%p0 = %a0, %q0 = %b0, %p1 = %a1, %q1 = %b1) -> (!t, !t, !t, !t) {
    async.await %p0, %q0
    %next:2 = scf.if %c -> (!t, !t) {
      %p2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
      %q2 = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
      scf.yield %p2, %q2 : !t, !t
    } else {
      %r = async.ready
      %s = async.ready
      scf.yield %r, %s : !t, !t
    }
    scf.yield %p1, %q1, %next#0, %next#1 : !t, !t, !t, !t
  }
  return
}

// What a group that is committed for others holds is not known, so a copy does not join it: its await would wait for
// the others, too.
//
// CHECK-LABEL: func.func @not_into_a_group_of_others
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: llvm.inline_asm
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
func.func @not_into_a_group_of_others(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  llvm.inline_asm has_side_effects "cp.async.ca.shared.global [$0], [$1], 4;", "" : () -> ()
  %b = gpux.commit_group async <cp_async>
  async.await %a
  gpu.barrier
  async.await %b
  return
}
