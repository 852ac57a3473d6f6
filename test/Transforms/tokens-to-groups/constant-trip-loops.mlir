// A loop of constant trip count adds exactly its groups; one that may be skipped adds none, unless `balance` has an
// empty group for that case.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PLAIN

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @three_times
// CHECK: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: return
func.func @three_times(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c3 step %c1 {
    %u = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
  }
  async.await %t
  return
}

// From -5 to 4 in steps of 3, with an induction variable of 32 bits.
// CHECK-LABEL: func.func @bounds_and_step
// CHECK: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: return
func.func @bounds_and_step(%src: !src, %dst: !dst, %i: index) {
  %lower = arith.constant -5 : i32
  %upper = arith.constant 4 : i32
  %step = arith.constant 3 : i32
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %lower to %upper step %step : i32 {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}

// CHECK-LABEL: func.func @nested
// CHECK: gpux.wait_group <cp_async>, 9
// CHECK-NEXT: return
func.func @nested(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %j = %c0 to %c3 step %c1 {
    %u = gpux.copy async %src[%j], %dst[%j], 1 : !src to !dst
    scf.for %k = %c0 to %c2 step %c1 {
      %v = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    }
  }
  async.await %t
  return
}

// An empty group before the first copy: also without any copy there is a group after that of %t.
// CHECK-LABEL: func.func @perhaps_none
// BALANCED: scf.for
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.copy
// BALANCED-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @perhaps_none(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %n step %i {
    %u = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
  }
  async.await %t
  return
}

// What is never run neither commits nor waits.
// CHECK-LABEL: func.func @zero_trips
// CHECK: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @zero_trips(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c1 to %c0 step %c1 {
    %v = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    async.await %v
  }
  async.await %t
  return
}

// The results of a loop without iterations are what went in.
// CHECK-LABEL: func.func @zero_trip_results
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @zero_trip_results(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %c0 to %c0 step %c1 iter_args(%x = %u, %y = %t) -> (!async.token, !async.token) {
    scf.yield %y, %x : !async.token, !async.token
  }
  async.await %r#1
  return
}

// Swapped an odd number of times.
// CHECK-LABEL: func.func @results
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @results(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c99 = arith.constant 99 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.for %k = %c0 to %c99 step %c1 iter_args(%x = %t, %y = %u) -> (!async.token, !async.token) {
    scf.yield %y, %x : !async.token, !async.token
  }
  async.await %r#1
  async.await %r#0
  return
}

// The prologue of a pipeline as a loop: no need to unroll it.
// CHECK-LABEL: func.func @prologue
// CHECK: scf.for %{{[a-z0-9]+}} = %{{[a-z0-9]+}} to %{{[a-z0-9]+}} step %{{[a-z0-9]+}} {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: scf.for %{{[a-z0-9]+}} = %{{[a-z0-9]+}} to %{{[a-z0-9]+}} step %{{[a-z0-9]+}} {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 3
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @prologue(%src: !src, %dst: !dst, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %none = async.ready
  %p:3 = scf.for %k = %c0 to %c3 step %c1 iter_args(%x = %none, %y = %none, %z = %none) -> (!async.token, !async.token, !async.token) {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    scf.yield %y, %z, %t : !async.token, !async.token, !async.token
  }
  %r:3 = scf.for %k = %c3 to %n step %c1 iter_args(%x = %p#0, %y = %p#1, %z = %p#2) -> (!async.token, !async.token, !async.token) {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    async.await %x
    scf.yield %y, %z, %t : !async.token, !async.token, !async.token
  }
  async.await %r#0
  async.await %r#1
  async.await %r#2
  return
}

// The bounds of other dialects' loops count as well.
//
// CHECK-LABEL: func.func @affine
// CHECK: gpux.wait_group <cp_async>, 20
// CHECK-NEXT: return
func.func @affine(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  affine.for %k = 0 to 20 {
    gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %a
  return
}

// The same bits, signed and unsigned: 0 to -56 and 0 to 200.
//
// CHECK-LABEL: func.func @signed
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-LABEL: func.func @unsigned
// CHECK: gpux.wait_group <cp_async>, 2
func.func @signed(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : i8
  %c100 = arith.constant 100 : i8
  %c200 = arith.constant 200 : i8
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c200 step %c100 : i8 {
    gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %a
  return
}

func.func @unsigned(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : i8
  %c100 = arith.constant 100 : i8
  %c200 = arith.constant 200 : i8
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for unsigned %k = %c0 to %c200 step %c100 : i8 {
    gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %a
  return
}

// Three iterations from a bound that is not known are never peeled (the count is right in the first one only).
//
// CHECK-LABEL: func.func @from_anywhere
// CHECK: scf.for
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// PLAIN-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: return
func.func @from_anywhere(%src: !src, %dst: !dst, %i: index) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %end = arith.addi %i, %c3 overflow<nsw> : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %end step %c1 {
    async.await %a
    gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
  }
  return
}
