// Tokens that go around loops.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s --check-prefixes=CHECK,BEST
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,EACH

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// Whoever awaits the last copy has awaited all of the loop: they share a group.
// CHECK-LABEL: func.func @result_of_a_loop
// CHECK: scf.for %{{[a-z0-9]+}} = %{{[a-z0-9]+}} to %{{[a-z0-9]+}} step %{{[a-z0-9]+}} {
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BEST-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @result_of_a_loop(%src: !src, %dst: !dst, %i: index, %n: index) {
  %first = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %last = scf.for %k = %i to %n step %i iter_args(%x = %first) -> !async.token {
    %next = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %next : !async.token
  }
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %last
  async.await %u
  return
}

// Each of the two tokens is awaited with two groups after its own. Without an iteration the second one is
// the youngest. A commit before the copy makes do with an empty group in the first iteration, and leaves the copy open.
// CHECK-LABEL: func.func @swap
// CHECK: scf.for
// BEST-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @swap(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %i to %n step %i iter_args(%x = %a, %y = %b) -> (!async.token, !async.token) {
    %t = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %x
    scf.yield %y, %x : !async.token, !async.token
  }
  async.await %r#0, %r#1
  return
}

// The first iteration awaits %a, after which there is %b; the second one %b, after which there is nothing. A commit an
// iteration is that of %b at first, and then an empty group after %b.
// CHECK-LABEL: func.func @swap_without_copies
// CHECK: scf.for
// EACH-NEXT: gpux.wait_group <cp_async>, 0
// BEST-NEXT: gpux.commit_group <cp_async>
// BEST-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @swap_without_copies(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %i to %n step %i iter_args(%x = %a, %y = %b) -> (!async.token, !async.token) {
    async.await %x
    scf.yield %y, %x : !async.token, !async.token
  }
  return
}

// %kept is complete after the first iteration, so only the distance there counts.
// CHECK-LABEL: func.func @unchanged
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @unchanged(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %i to %n step %i iter_args(%kept = %a, %last = %b) -> (!async.token, !async.token) {
    async.await %kept
    %next = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %last
    scf.yield %kept, %next : !async.token, !async.token
  }
  return
}

// A token that rotates past a select of the loop's own: as young as the younger of the two.
// CHECK-LABEL: func.func @join_in_a_loop
// CHECK: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @join_in_a_loop(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = scf.for %k = %i to %n step %i iter_args(%x = %a) -> !async.token {
    %t = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %x
    %j = async.join %t, %x
    scf.yield %j : !async.token
  }
  async.await %r
  return
}

// CHECK-LABEL: func.func @other_values_stay
// CHECK: %[[R:[0-9]+]]:2 = scf.for %{{[a-z0-9]+}} = %{{[a-z0-9]+}} to %{{[a-z0-9]+}} step %{{[a-z0-9]+}} iter_args(%[[X:[a-z0-9]+]] = %[[I:[a-z0-9]+]], %[[Y:[a-z0-9]+]] = %[[N:[a-z0-9]+]]) -> (index, index) {
// CHECK: scf.yield %[[Y]], %[[X]] : index, index
// CHECK: return %[[R]]#1, %[[R]]#0
func.func @other_values_stay(%src: !src, %dst: !dst, %i: index, %n: index) -> (index, index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:4 = scf.for %k = %i to %n step %i iter_args(%s = %a, %x = %i, %t = %a, %y = %n) -> (!async.token, index, !async.token, index) {
    async.await %s, %t
    scf.yield %t, %y, %s, %x : !async.token, index, !async.token, index
  }
  return %r#3, %r#1 : index, index
}
