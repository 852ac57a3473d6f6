// A value of a region may be used when its token is complete.
//
// RUN: not async-sim %s --kernel=early | FileCheck %s --check-prefix=EARLY
// RUN: async-sim %s --kernel=awaited | FileCheck %s --check-prefix=AWAITED

!src = memref<16xf32>
!dst = memref<16xf32, #gpu.address_space<workgroup>>

// EARLY: error: memref.load: a value of the async.region at {{.*}}regions.mlir:[[#@LINE+6]]:12 is used before its token is complete
// EARLY: against: gpux.copy
// EARLY: help: await the token first, or make it a dependency
func.func @early(%src: !src, %out: !src) {
  %c0 = arith.constant 0 : index
  %dst = memref.alloc() : !dst
  %t, %m = async.region -> (!dst) {
    %u = gpux.copy async %src[%c0], %dst[%c0], 4 : !src to !dst
    async.yield %dst, %u : !dst, !async.token
  }
  %x = memref.load %m[%c0] : !dst
  async.await %t
  memref.store %x, %out[%c0] : !src
  return
}

// AWAITED: awaited: clean
func.func @awaited(%src: !src, %out: !src) {
  %c0 = arith.constant 0 : index
  %dst = memref.alloc() : !dst
  %t, %m = async.region -> (!dst) {
    %u = gpux.copy async %src[%c0], %dst[%c0], 4 : !src to !dst
    async.yield %dst, %u : !dst, !async.token
  }
  async.await %t
  %x = memref.load %m[%c0] : !dst
  memref.store %x, %out[%c0] : !src
  return
}

// An operation that depends on the token waits for it, and what only hands a value on does not use it.
//
// RUN: async-sim %s --kernel=handed_on | FileCheck %s --check-prefix=HANDED
// HANDED: handed_on: clean
func.func @handed_on(%src: !src, %out: !src) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %dst = memref.alloc() : !dst
  %t, %m = async.region -> (!dst) {
    %u = gpux.copy async %src[%c0], %dst[%c0], 4 : !src to !dst
    async.yield %dst, %u : !dst, !async.token
  }
  %v = gpux.copy async [%t] %src[%c4], %m[%c4], 4 : !src to !dst
  %last:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%token = %v, %buffer = %m) -> (!async.token, !dst) {
    async.await %token
    %x = memref.load %buffer[%c4] : !dst
    %w, %next = async.region -> (!dst) {
      %u = gpux.copy async %src[%c4], %buffer[%c4], 4 : !src to !dst
      async.yield %buffer, %u : !dst, !async.token
    }
    scf.yield %w, %next : !async.token, !dst
  }
  async.await %last#0
  %y = memref.load %last#1[%c4] : !dst
  memref.store %y, %out[%c0] : !src
  return
}

// Loops and branches of other dialects are run as they are lowered.
//
// RUN: async-sim %s --kernel=affine --print | FileCheck %s --check-prefix=AFFINE
// AFFINE: affine: clean
// AFFINE: argument 0: 0 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15
func.func @affine(%out: memref<16xindex>) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 16 {
    affine.store %c0, %out[%i] : memref<16xindex>
  }
  affine.for %i = 2 to 16 {
    affine.store %i, %out[%i] : memref<16xindex>
  }
  return
}
