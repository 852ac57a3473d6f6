// What upstream's passes make of token programs: selects of tokens, poison tokens, block arguments and results.
//
// RUN: async-opt %s --canonicalize --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: async-opt %s --convert-scf-to-cf --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,BLOCKS
// RUN: async-opt %s --convert-scf-to-cf --canonicalize --gpux-tokens-to-groups='form-groups=false' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: async-opt %s --convert-scf-to-cf --lift-cf-to-scf --gpux-tokens-to-groups='form-groups=false' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: async-opt %s --convert-scf-to-cf --lift-cf-to-scf --canonicalize --cse --gpux-tokens-to-groups='form-groups=false' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ONE

// RUN: async-opt %s --canonicalize | FileCheck %s --check-prefix=SELECT
// SELECT-LABEL: func.func @select
// SELECT: arith.select %{{.*}} : !async.token

// RUN: async-opt %s --convert-scf-to-cf --lift-cf-to-scf | FileCheck %s --check-prefix=POISON
// POISON: ub.poison : !async.token

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// A select has one count for either token, the younger one's. Where there are blocks, the way of the younger one has an
// empty group more.
// CHECK-LABEL: func.func @select
// CHECK-NOT: async.
// CHECK: gpux.commit_group <cp_async>
// CHECK-NOT: gpux.wait_group
// ONE: gpux.wait_group <cp_async>, 1
// BLOCKS: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: return
func.func @select(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %x = scf.if %c -> !t {
    scf.yield %a : !t
  } else {
    scf.yield %b : !t
  }
  async.await %x
  return
}

// CHECK-LABEL: func.func @pipeline
// CHECK-NOT: async.
// CHECK: gpux.wait_group <cp_async>, 2
// CHECK-NOT: async.
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @pipeline(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %i to %n step %i iter_args(%x = %a, %y = %b) -> (!t, !t) {
    %t = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %x
    scf.yield %y, %t : !t, !t
  }
  async.await %r#0
  async.await %r#1
  return
}

// CHECK-LABEL: func.func @while
// CHECK-NOT: async.
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NOT: async.
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @while(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %r = async.ready
  %last = scf.while (%x = %r) : (!t) -> !t {
    %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %x
    scf.condition(%c) %t : !t
  } do {
  ^bb0(%y: !t):
    scf.yield %y : !t
  }
  async.await %last
  return
}

// Two returns: lifting makes a result of one that does not always exist.
// CHECK-LABEL: func.func @two_exits
// CHECK-NOT: async.
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NOT: async.
// CHECK: return
func.func @two_exits(%src: !src, %dst: !dst, %i: index, %c: i1, %d: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.br ^loop(%a : !t)
^loop(%x: !t):
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  cf.cond_br %c, ^body, ^exit
^body:
  async.await %x
  cf.cond_br %d, ^loop(%b : !t), ^other
^exit:
  async.await %x
  return
^other:
  return
}

// CHECK-LABEL: func.func @poison
// CHECK-NOT: async.
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @poison(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %p = ub.poison : !t
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %x = arith.select %c, %p, %a : !t
  async.await %x
  return
}
