// A way that a constant rules out neither counts nor waits; its tokens leave it all the same.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false' --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0 drop-implied=false' --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @branch
// CHECK: cf.cond_br %{{.+}}, ^bb1, ^bb2(%{{.+}} : index)
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
// CHECK-NEXT: ^bb2(%{{.+}}: index):
// CHECK-NEXT: return
func.func @branch(%src: !src, %dst: !dst, %i: index) {
  %true = arith.constant true
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.cond_br %true, ^left(%a : !t), ^right(%b, %i : !t, index)
^left(%x: !t):
  async.await %x
  return
^right(%y: !t, %k: index):
  async.await %y
  return
}

// CHECK-LABEL: func.func @switch
// CHECK: default: ^bb1,
// CHECK-NEXT: 3: ^bb2
// CHECK: ^bb2:
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
func.func @switch(%src: !src, %dst: !dst, %i: index) {
  %three = arith.constant 3 : i32
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.switch %three : i32, [
    default: ^left(%a : !t),
    3: ^right(%b : !t)
  ]
^left(%x: !t):
  async.await %x
  return
^right(%y: !t):
  async.await %y
  return
}

// CHECK-LABEL: func.func @if
// CHECK: scf.if
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @if(%src: !src, %dst: !dst, %i: index) {
  %true = arith.constant true
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %true {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %a
  return
}

// CHECK-LABEL: func.func @select
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @select(%src: !src, %dst: !dst, %i: index) {
  %true = arith.constant true
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %x = arith.select %true, %a, %b : !t
  async.await %x
  return
}

// CHECK-LABEL: func.func @index_switch
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @index_switch(%src: !src, %dst: !dst, %i: index) {
  %five = arith.constant 5 : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %x = scf.index_switch %five -> !t
  case 5 {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !t
  }
  default {
    scf.yield %a : !t
  }
  async.await %x
  return
}

// CHECK-LABEL: func.func @while_never
// CHECK: scf.while : () -> () {
// CHECK: } do {
// CHECK-NOT: gpux.wait_group
// CHECK: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @while_never(%src: !src, %dst: !dst, %i: index) {
  %false = arith.constant false
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = scf.while (%x = %a) : (!t) -> !t {
    scf.condition(%false) %x : !t
  } do {
  ^bb0(%x: !t):
    async.await %x
    scf.yield %x : !t
  }
  async.await %r
  return
}

// CHECK-LABEL: func.func @affine_for_never
// CHECK: %[[R:.+]] = affine.for %[[K:.+]] = 0 to 0 iter_args(%{{.+}} = %{{.+}}) -> (index) {
// CHECK-NEXT: gpux.copy
// CHECK: affine.yield %[[K]] : index
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return %[[R]] : index
func.func @affine_for_never(%src: !src, %dst: !dst, %i: index) -> index {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = affine.for %k = 0 to 0 iter_args(%x = %a, %y = %i) -> (!t, index) {
    %b = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    affine.yield %b, %k : !t, index
  }
  async.await %r#0
  return %r#1 : index
}

// A foreign token on the way that is not taken stays, with all that is bound to it.
// CHECK-LABEL: func.func @foreign
// CHECK: %[[T:.+]] = "test.load"
// CHECK: cf.cond_br %{{.+}}, ^bb1, ^bb2(%[[T]] : !async.token)
// CHECK: ^bb2(%[[Y:.+]]: !async.token):
// CHECK-NEXT: async.await %[[Y]]
func.func @foreign(%src: !src, %dst: !dst, %i: index) {
  %true = arith.constant true
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %t = "test.load"() : () -> !t
  cf.cond_br %true, ^left(%a : !t), ^right(%t : !t)
^left(%x: !t):
  async.await %x
  return
^right(%y: !t):
  async.await %y
  return
}

// CHECK-LABEL: func.func @foreign_in_a_loop_that_is_never_run
// CHECK: affine.for %{{.+}} = 0 to 0 iter_args(%{{.+}} = %{{.+}}, %[[Y:.+]] = %{{.+}}) -> (!async.token, !async.token) {
// CHECK: affine.yield %[[Y]], %{{.+}} : !async.token, !async.token
// CHECK: gpux.wait_group <cp_async>, 0
func.func @foreign_in_a_loop_that_is_never_run(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = affine.for %k = 0 to 0 iter_args(%x = %a, %y = %a) -> (!t, !t) {
    %t = "test.load"() : () -> !t
    affine.yield %y, %t : !t, !t
  }
  async.await %r#0, %r#1
  return
}

// Two edges to one block are told apart.
//
// CHECK-LABEL: func.func @two_edges
// CHECK: gpux.wait_group <cp_async>, 1
func.func @two_edges(%src: !src, %dst: !dst, %i: index) {
  %true = arith.constant true
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.cond_br %true, ^meet(%a : !t), ^meet(%b : !t)
^meet(%x: !t):
  async.await %x
  return
}

// CHECK-LABEL: func.func @two_cases
// CHECK: gpux.wait_group <cp_async>, 1
func.func @two_cases(%src: !src, %dst: !dst, %i: index) {
  %c7 = arith.constant 7 : i32
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.switch %c7 : i32, [default: ^meet(%b : !t), 7: ^meet(%a : !t)]
^meet(%x: !t):
  async.await %x
  return
}
