// An iteration that is peeled off has constants where the loop has none: what branches and inner loops do with them must not move the
// commits and waits of what comes later.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups | async-sim - --block=1 --kernel=carried_condition --schedule=random
// RUN: async-opt %s --gpux-tokens-to-groups | async-sim - --block=1 --kernel=inner_bound --schedule=random

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// The condition is true in the first iteration and false in the second one.
// CHECK-LABEL: func.func @carried_condition
// CHECK: scf.if %true
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK: scf.if %false
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: memref.load
func.func @carried_condition(%src: !src, %out: !src, %v: f32) {
  %dst = memref.alloca() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %true = arith.constant true
  %false = arith.constant false
  %none = async.ready
  %a = gpux.copy async %src[%c0], %dst[%c0], 4 : !src to !dst
  %b = gpux.copy async %src[%c4], %dst[%c4], 4 : !src to !dst
  scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %a, %y = %none, %z = %b, %first = %true) -> (!t, !t, !t, i1) {
    scf.if %first { memref.store %v, %out[%c1] : !src }
    async.await %x
    memref.store %v, %out[%c0] : !src
    async.await %y
    memref.store %v, %out[%c0] : !src
    scf.yield %y, %z, %none, %false : !t, !t, !t, i1
  }
  %e = gpux.copy async %src[%c8], %dst[%c8], 4 : !src to !dst
  async.await %e
  %r = memref.load %dst[%c8] : !dst
  memref.store %r, %out[%c2] : !src
  return
}

// The trip count of the inner loop is known in an iteration of its own.
// CHECK-LABEL: func.func @inner_bound
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: memref.load
func.func @inner_bound(%src: !src, %out: !src, %v: f32) {
  %dst = memref.alloca() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %none = async.ready
  %a = gpux.copy async %src[%c0], %dst[%c0], 4 : !src to !dst
  %b = gpux.copy async %src[%c4], %dst[%c4], 4 : !src to !dst
  scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %a, %y = %none, %z = %b) -> (!t, !t, !t) {
    scf.for %j = %c0 to %i step %c1 { memref.store %v, %out[%j] : !src }
    async.await %x
    memref.store %v, %out[%c0] : !src
    async.await %y
    memref.store %v, %out[%c0] : !src
    scf.yield %y, %z, %none : !t, !t, !t
  }
  %e = gpux.copy async %src[%c8], %dst[%c8], 4 : !src to !dst
  async.await %e
  %r = memref.load %dst[%c8] : !dst
  memref.store %r, %out[%c2] : !src
  return
}
