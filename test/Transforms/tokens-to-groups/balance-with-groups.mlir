// What balance adds and what form-groups leaves out fit together.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// The arms commit 1 and 3 groups. Two of the three are merged, so that one empty group on the other way is enough.
//
// CHECK-LABEL: func.func @as_few_empty_groups_as_do
// CHECK: scf.if
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: } else {
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: return
func.func @as_few_empty_groups_as_do(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  } else {
    scf.for %k = %c0 to %c3 step %c1 {
      gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      async.await %a
    }
  }
  async.await %b
  return
}

// No wait tells 64 groups from a thousand.
//
// CHECK-LABEL: func.func @arms_far_apart
// CHECK: } else {
// CHECK-COUNT-64: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 63
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
