// The bounds of a loop may be farther apart than a signed number of their type can be: it runs all the same.
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// 67 iterations, from -100 to 98.
// CHECK-LABEL: func @far_apart
func.func @far_apart(%src: !global, %dst: !shared, %i: index) -> f32 {
  %lower = arith.constant -100 : i8
  %upper = arith.constant 100 : i8
  %step = arith.constant 3 : i8
  %ready = async.ready
  // CHECK: scf.for
  // CHECK: gpux.copy
  // CHECK: gpux.commit_group <cp_async>
  // CHECK: gpux.wait_group <cp_async>, 0
  // CHECK: memref.load
  %last = scf.for %k = %lower to %upper step %step iter_args(%token = %ready) -> (!async.token) : i8 {
    async.await %token
    %next = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    scf.yield %next : !async.token
  }
  async.await %last
  %x = memref.load %dst[%i] : !shared
  return %x : f32
}

// How often this runs is not known, but that it does.
// CHECK-LABEL: func @by_any_step
func.func @by_any_step(%src: !global, %dst: !shared, %i: index, %step: i8) -> f32 {
  %lower = arith.constant -100 : i8
  %upper = arith.constant 100 : i8
  %ready = async.ready
  // CHECK: scf.for
  // CHECK: gpux.commit_group <cp_async>
  // CHECK: gpux.wait_group <cp_async>, 0
  // CHECK: memref.load
  %last = scf.for %k = %lower to %upper step %step iter_args(%token = %ready) -> (!async.token) : i8 {
    async.await %token
    %next = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    scf.yield %next : !async.token
  }
  async.await %last
  %x = memref.load %dst[%i] : !shared
  return %x : f32
}
