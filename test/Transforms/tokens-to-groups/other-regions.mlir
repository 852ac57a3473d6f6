// Control flow of any dialect is read through its interfaces.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false' | FileCheck %s --check-prefixes=CHECK,PLAIN

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @affine_for
// CHECK: affine.for %{{[a-z0-9]+}} = 0 to 3 {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: affine.for %{{[a-z0-9]+}} = 0 to %{{[a-z0-9]+}} {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @affine_for(%src: !src, %dst: !dst, %i: index, %n: index) {
  %none = async.ready
  %p:3 = affine.for %k = 0 to 3 iter_args(%x = %none, %y = %none, %z = %none) -> (!t, !t, !t) {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    affine.yield %y, %z, %t : !t, !t, !t
  }
  %r:3 = affine.for %k = 0 to %n iter_args(%x = %p#0, %y = %p#1, %z = %p#2) -> (!t, !t, !t) {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    async.await %x
    affine.yield %y, %z, %t : !t, !t, !t
  }
  async.await %r#0
  async.await %r#1
  async.await %r#2
  return
}

// CHECK-LABEL: func.func @affine_if
// CHECK: affine.if
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @affine_if(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  affine.if affine_set<(d0) : (d0 - 5 >= 0)>(%n) {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}

// The arm has two groups. One empty group in an else, which has to be made for it, and a commit after the branch are as
// many.
// CHECK-LABEL: func.func @affine_if_gets_an_else
// CHECK: affine.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: } else {
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @affine_if_gets_an_else(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  affine.if affine_set<(d0) : (d0 - 5 >= 0)>(%n) {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %v = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}

// Two, one and no groups after %t. With empty groups there are always two, and one after %v.
// CHECK-LABEL: func.func @index_switch
// CHECK: scf.index_switch
// CHECK-NOT: async.token
// CHECK: case 2 {
// BALANCED: gpux.wait_group <cp_async>, 2
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @index_switch(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %v = scf.index_switch %i -> !t
  case 2 {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !t
  }
  case 5 {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !t
  }
  default {
    scf.yield %t : !t
  }
  async.await %t
  async.await %v
  return
}

// Blocks inside of a region.
// CHECK-LABEL: func.func @execute_region
// CHECK: scf.execute_region {
// CHECK: cf.cond_br %{{[a-z0-9]+}}, ^bb1, ^bb2{{$}}
// CHECK: scf.yield{{$}}
// CHECK: scf.yield{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @execute_region(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = scf.execute_region -> !t {
    cf.cond_br %c, ^left, ^right
  ^left:
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !t
  ^right:
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %b : !t
  }
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  return
}

// CHECK-LABEL: func.func @alloca_scope
// CHECK: memref.alloca_scope {
// CHECK: }
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @alloca_scope(%src: !src, %dst: !dst, %i: index) {
  %t = memref.alloca_scope -> (!t) {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    memref.alloca_scope.return %a : !t
  }
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  return
}

// The iterations of a parallel loop run one after another as far as one thread's queue is concerned; there may be none.
// CHECK-LABEL: func.func @parallel
// CHECK: scf.parallel
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// BALANCED: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN: gpux.wait_group <cp_async>, 0
func.func @parallel(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.parallel (%k) = (%i) to (%n) step (%i) {
    async.await %t
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}
