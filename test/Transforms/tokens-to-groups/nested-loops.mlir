// Loops in loops.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,BALANCED

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// When the inner loop is first reached, the outer one has copied at least once. An empty group before that copy makes
// it two groups.
// CHECK-LABEL: func.func @token_from_before_awaited_inside
// CHECK: scf.for
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// PLAIN-NEXT: gpux.wait_group <cp_async>, 1
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: return
func.func @token_from_before_awaited_inside(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %j = %i to %n step %i {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.for %k = %i to %n step %i {
      async.await %t
      %v = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
  }
  return
}

// A pipeline that goes on from one outer iteration to the next.
// CHECK-LABEL: func.func @carried_through_both
// CHECK: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @carried_through_both(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %outer:2 = scf.for %j = %i to %n step %i iter_args(%p = %a, %q = %b) -> (!async.token, !async.token) {
    %inner:2 = scf.for %k = %i to %n step %i iter_args(%x = %p, %y = %q) -> (!async.token, !async.token) {
      %t = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
      async.await %x
      scf.yield %y, %t : !async.token, !async.token
    }
    scf.yield %inner#0, %inner#1 : !async.token, !async.token
  }
  async.await %outer#0
  async.await %outer#1
  return
}

// The inner loop may be skipped, and then the outer iteration's own copy is the only one after %x. The commit of
// the last inner copy, at the start of the next outer iteration, is empty then, and counts.
// CHECK-LABEL: func.func @inner_loop_may_be_skipped
// CHECK: scf.for
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// PLAIN-NEXT: gpux.wait_group <cp_async>, 1
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: return
func.func @inner_loop_may_be_skipped(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = scf.for %j = %i to %n step %i iter_args(%x = %a) -> !async.token {
    %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.for %k = %i to %n step %i {
      %u = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    }
    async.await %x
    scf.yield %t : !async.token
  }
  return
}

// An await in the inner loop completes %x there; after a skipped inner loop it is still in flight.
// CHECK-LABEL: func.func @inner_loop_may_have_waited
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @inner_loop_may_have_waited(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = scf.for %j = %i to %n step %i iter_args(%x = %a) -> !async.token {
    %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.for %k = %i to %n step %i {
      async.await %x
    }
    async.await %x
    scf.yield %t : !async.token
  }
  return
}
