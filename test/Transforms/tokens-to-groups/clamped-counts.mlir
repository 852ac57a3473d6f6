// The hardware counts up to 63 groups in flight.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @at_the_limit
// CHECK: gpux.wait_group <cp_async>, 63
// CHECK-NEXT: return
func.func @at_the_limit(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c63 step %c1 {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}

// Of 65 copies the last one may stay open at the wait.
// CHECK-LABEL: func.func @beyond
// CHECK: scf.for
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 63
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: return
func.func @beyond(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65 = arith.constant 65 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c65 step %c1 {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  // expected-remark @+1 {{more than 63 groups may stay in flight here; the hardware counts no further than 63}}
  async.await %t
  return
}

// No loop is too long to be counted.
// CHECK-LABEL: func.func @far_beyond
// CHECK: gpux.wait_group <cp_async>, 63
// CHECK: return
func.func @far_beyond(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %huge = arith.constant 4000000000000000000 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %huge step %c1 {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  // expected-remark @+1 {{more than 63 groups}}
  async.await %t
  return
}

// What is emitted counts, not what was meant: the wait for %t leaves no more than 63 groups in flight, so %u is complete.
// CHECK-LABEL: func.func @implied
// CHECK: gpux.wait_group <cp_async>, 63
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: return
func.func @implied(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c64 step %c1 {
    %v = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  // expected-remark @+1 {{more than 63 groups}}
  async.await %t
  async.await %u
  return
}

// Of wgmma, it counts up to 7.
// CHECK-LABEL: func.func @wgmma_at_the_limit
// CHECK: gpux.wait_group <wgmma>, 7
// CHECK-NEXT: return
func.func @wgmma_at_the_limit() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %t = gpux.commit_group async <wgmma>
  scf.for %k = %c0 to %c7 step %c1 {
    gpux.commit_group <wgmma>
  }
  async.await %t
  return
}

// CHECK-LABEL: func.func @wgmma_beyond
// CHECK: gpux.wait_group <wgmma>, 7
// CHECK-NEXT: return
func.func @wgmma_beyond() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = gpux.commit_group async <wgmma>
  scf.for %k = %c0 to %c8 step %c1 {
    gpux.commit_group <wgmma>
  }
  // expected-remark @+1 {{more than 7 groups may stay in flight here; the hardware counts no further than 7}}
  async.await %t
  return
}
