// Arms that can't be made equal stay, with a remark.
//
// RUN: async-opt %s --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// The loop waits for each copy, so it commits each.
//
// CHECK-LABEL: func.func @unknown_trip_count
// CHECK: scf.if
// CHECK: scf.for
// CHECK: gpux.commit_group
// CHECK: gpux.wait_group <cp_async>, 0
func.func @unknown_trip_count(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %none = async.ready
  // expected-remark @+1 {{the paths that meet here commit different numbers of groups, and a loop of unknown trip count on one of them keeps them from being made equal; later waits may wait for more than they name}}
  scf.if %c {
    scf.for %k = %i to %n step %i iter_args(%x = %none) -> (!async.token) {
      %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      async.await %x
      scf.yield %u : !async.token
    }
  }
  async.await %t
  return
}

// A loop that waits for nothing is one group, and one commit after the branch serves both ways: no remark.
//
// CHECK-LABEL: func.func @staging
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
func.func @staging(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %none = async.ready
  %u = scf.if %c -> (!async.token) {
    %tile = scf.for %k = %i to %n step %i iter_args(%x = %none) -> (!async.token) {
      %new = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      %j = async.join %x, %new
      scf.yield %j : !async.token
    }
    scf.yield %tile : !async.token
  } else {
    scf.yield %none : !async.token
  }
  async.await %t
  async.await %u
  return
}

// Nothing waits after the arms, so there is nothing to say.
//
// CHECK-LABEL: func.func @nothing_suffers
// CHECK: gpux.wait_group <cp_async>, 0
func.func @nothing_suffers(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  scf.if %c {
    scf.for %k = %i to %n step %i {
      %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
  }
  return
}

// Nor about arms that could be made equal, were it of any use.
//
// CHECK-LABEL: func.func @no_use
func.func @no_use(%src: !src, %dst: !dst, %i: index, %c: i1, %d: i1) {
  scf.if %c {
    scf.if %d {
      gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
    gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  return
}
