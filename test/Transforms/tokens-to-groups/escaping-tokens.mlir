// A token that goes where it can't be followed is complete by then: its queue is drained, and a complete token goes instead.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

func.func private @callee(!t)

// %b need not be complete there: its group is committed after the wait.
// CHECK-LABEL: func.func @call
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: call @callee(%[[R]])
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @call(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  // expected-remark @+1 {{a token of queue cp_async escapes here, where it can't be followed; the queue is drained before}}
  call @callee(%a) : (!t) -> ()
  async.await %b
  return
}

// CHECK-LABEL: func.func @returned
// CHECK-SAME: -> !async.token
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: return %[[R]] : !async.token
func.func @returned(%src: !src, %dst: !dst, %i: index) -> !t {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  // expected-remark @+1 {{a token of queue cp_async escapes here}}
  return %a : !t
}

// One remark for each operation and queue.
// CHECK-LABEL: func.func @unknown_operation
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NOT: gpux.wait_group
// CHECK: gpux.wait_group <bulk>, 0
// CHECK-NOT: gpux.wait_group
// CHECK: "test.op"(%{{.+}}, %{{.+}}, %{{.+}}) : (!async.token, !async.token, !async.token) -> ()
// CHECK-NEXT: return
func.func @unknown_operation(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = gpux.commit_group async <bulk>
  // expected-remark @+2 {{a token of queue cp_async escapes here}}
  // expected-remark @+1 {{a token of queue bulk escapes here}}
  "test.op"(%a, %b, %c) : (!t, !t, !t) -> ()
  return
}

// Only where the token goes on is it complete; elsewhere it counts.
// CHECK-LABEL: func.func @on_one_path
// CHECK: scf.if
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: "test.op"(%[[R]])
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @on_one_path(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    // expected-remark @+1 {{a token of queue cp_async escapes here}}
    "test.op"(%a) : (!t) -> ()
  }
  async.await %a
  async.await %b
  return
}

// Nothing is drained for a token that is complete in any case.
// CHECK-LABEL: func.func @complete
// CHECK-NEXT: gpux.copy
// CHECK-NOT: gpux.wait_group
// CHECK: %[[R:.+]] = async.ready
// CHECK-NOT: gpux.wait_group
// CHECK: "test.op"(%[[R]])
// CHECK-NEXT: return
func.func @complete(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = async.ready
  "test.op"(%r) : (!t) -> ()
  return
}

// Into a loop that is known, around it, and out through an unknown operation.
// CHECK-LABEL: func.func @out_of_a_loop
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: %[[R:.+]] = async.ready
// CHECK-NEXT: "test.op"(%[[R]])
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @out_of_a_loop(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %n step %i iter_args(%x = %a) -> !t {
    // expected-remark @+1 {{a token of queue cp_async escapes here}}
    "test.op"(%x) : (!t) -> ()
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %b : !t
  }
  return
}
