// The count at a place is the least over all paths that lead to it.
//
// RUN: async-opt %s --gpux-tokens-to-groups='balance=false form-groups=false' | FileCheck %s --check-prefixes=CHECK,EACH
// RUN: async-opt %s --gpux-tokens-to-groups='balance=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @wait_in_one_branch
// CHECK: scf.if
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @wait_in_one_branch(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    async.await %t
  }
  async.await %u
  return
}

// Both arms copy, so that one commit after them is never empty.
// CHECK-LABEL: func.func @token_is_a_result
// CHECK: scf.if %{{[a-z0-9]+}} {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: } else {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @token_is_a_result(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = scf.if %c -> !async.token {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !async.token
  } else {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %b : !async.token
  }
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  async.await %u
  return
}

// One path commits two groups after %t, the other path one; the wait for %b leaves the last copy in flight, which is in no
// group yet.
// CHECK-LABEL: func.func @uneven_copies
// CHECK: scf.if
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: } else {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @uneven_copies(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = scf.if %c -> !async.token {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    // A group of its own, so that the arms differ in any case.
    async.await %a
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %c2 = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %b
    scf.yield %c2 : !async.token
  } else {
    %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %d : !async.token
  }
  async.await %t
  async.await %u
  return
}

// %u is awaited nowhere: without a commit it is in no group that the wait could force.
// CHECK-LABEL: func.func @copy_without_else
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copy_without_else(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}

// After the inner branch a copy has happened in any case; after the outer one perhaps none.
// CHECK-LABEL: func.func @nested
// CHECK: scf.if
// CHECK: scf.if
// CHECK: } else {
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @nested(%src: !src, %dst: !dst, %i: index, %c: i1, %d: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    %u = scf.if %d -> !async.token {
      %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      scf.yield %a : !async.token
    } else {
      %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      scf.yield %b : !async.token
    }
    async.await %t
    async.await %u
  }
  async.await %t
  return
}

// A copy on one path, a complete token on the other.
// CHECK-LABEL: func.func @copy_or_ready
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copy_or_ready(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = scf.if %c -> !async.token {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  async.await %u
  return
}

// CHECK-LABEL: func.func @other_results_stay
// CHECK: %[[R:[0-9]+]]:2 = scf.if %{{[a-z0-9]+}} -> (i1, index) {
// CHECK: return %[[R]]#1, %[[R]]#0 : index, i1
func.func @other_results_stay(%src: !src, %dst: !dst, %i: index, %c: i1) -> (index, i1) {
  %r:4 = scf.if %c -> (!async.token, i1, !async.token, index) {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a, %c, %a, %i : !async.token, i1, !async.token, index
  } else {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a, %c, %b, %i : !async.token, i1, !async.token, index
  }
  async.await %r#0, %r#2
  return %r#3, %r#1 : index, i1
}
