// Tokens of other engines stay, with their awaits.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @alone
// CHECK-NEXT: %[[T:.+]] = "test.load"
// CHECK-NEXT: async.await %[[T]] {test.mark}
// CHECK-NEXT: return
func.func @alone() {
  %t = "test.load"() : () -> !t
  async.await %t {test.mark}
  return
}

// Awaited with a copy: a wait for the one, an await of the other.
// CHECK-LABEL: func.func @with_a_copy
// CHECK-NEXT: %[[T:.+]] = "test.load"
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: async.await %[[T]]{{$}}
// CHECK-NEXT: return
func.func @with_a_copy(%src: !src, %dst: !dst, %i: index) {
  %t = "test.load"() : () -> !t
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a, %t
  return
}

// Both kinds rotate through a loop; those of the copies leave it.
// CHECK-LABEL: func.func @rotation
// CHECK: %[[T:.+]] = "test.load"
// CHECK: %[[R:.+]] = scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[X:.+]] = %[[T]]) -> (!async.token) {
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: async.await %[[X]]
// CHECK-NEXT: %[[N:.+]] = "test.load"
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.yield %[[N]]
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: return
func.func @rotation(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = "test.load"() : () -> !t
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %i to %n step %i iter_args(%x = %t, %y = %a) -> (!t, !t) {
    async.await %x, %y
    %u = "test.load"() : () -> !t
    %b = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %u, %b : !t, !t
  }
  async.await %r#1, %r#0
  return
}

// One or the other: the wait is for the copy, the await for the load. In the copy's place there is a complete token.
// CHECK-LABEL: func.func @either
// CHECK: %[[X:.+]] = scf.if %{{.+}} -> (!async.token) {
// CHECK-DAG: gpux.copy
// CHECK-DAG: %[[READY:.+]] = async.ready
// CHECK: scf.yield %[[READY]]
// CHECK: } else {
// CHECK-NEXT: %[[L:.+]] = "test.load"
// CHECK-NEXT: scf.yield %[[L]]
// CHECK-NEXT: }
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: async.await %[[X]]
// CHECK-NEXT: return
func.func @either(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %x = scf.if %c -> !t {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !t
  } else {
    %b = "test.load"() : () -> !t
    scf.yield %b : !t
  }
  async.await %x
  return
}

// CHECK-LABEL: func.func @joined
// CHECK: %[[T:.+]] = "test.load"
// CHECK: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: async.await %[[T]]
// CHECK-NEXT: return
func.func @joined(%src: !src, %dst: !dst, %i: index) {
  %t = "test.load"() : () -> !t
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %j = async.join %a, %t
  async.await %j
  return
}

// A call's result is foreign too, whatever was handed to it.
func.func private @callee(!t) -> !t
// CHECK-LABEL: func.func @call_result
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: %[[C:.+]] = call @callee(%[[R]])
// CHECK-NEXT: async.await %[[C]]
// CHECK-NEXT: return
func.func @call_result(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  // expected-remark @+1 {{a token of queue cp_async escapes here}}
  %b = call @callee(%a) : (!t) -> !t
  async.await %b
  return
}
