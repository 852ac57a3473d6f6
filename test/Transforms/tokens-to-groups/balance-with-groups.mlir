// What balance adds and what form-groups leaves out fit together.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// The arms commit 0 and 3 groups. Two of the three are merged, so that one empty group on the other way is enough; the
// commit after the branch serves both.
//
// CHECK-LABEL: func.func @as_few_empty_groups_as_do
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: } else {
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @as_few_empty_groups_as_do(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %none = async.ready
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u:3 = scf.if %c -> (!t, !t, !t) {
    %x = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %y = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %z = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %x, %y, %z : !t, !t, !t
  } else {
    scf.yield %none, %none, %none : !t, !t, !t
  }
  async.await %t
  async.await %u#0, %u#1
  async.await %u#2
  return
}

// A thousand copies that nobody awaits need no group, and the other way none to be equal.
//
// CHECK-LABEL: func.func @arms_far_apart
// CHECK: gpux.commit_group
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @arms_far_apart(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    scf.for %k = %c0 to %c1000 step %c1 {
      gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
  }
  async.await %t
  return
}

// More groups than anybody could count, on one way only.
//
// CHECK-LABEL: func.func @arms_beyond_counting
// CHECK: gpux.wait_group <cp_async>
func.func @arms_beyond_counting(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 9223372036854775807 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    scf.for %k = %c0 to %many step %c1 {
      scf.for %l = %c0 to %many step %c1 {
        gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      }
      gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
    gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}
