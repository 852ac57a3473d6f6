// A copy with dependencies is an await of them right before the copy.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,DROP
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false drop-implied=false' | FileCheck %s --check-prefixes=CHECK,ALL

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @copy_after_copy
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1{{$}}
// CHECK-NEXT: gpux.copy %{{.*}} {bypass_l1, test.mark}
// CHECK-NEXT: gpux.commit_group <cp_async>
// ALL-NEXT: gpux.wait_group <cp_async>, 2
// DROP-NEXT: gpux.wait_group <cp_async>, 0
// ALL-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copy_after_copy(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %v = gpux.copy async [%t] %src[%i], %dst[%i], 4, %n {bypass_l1, test.mark} : !src to !dst
  async.await %t
  async.await %v
  return
}

// The copies of a chain.
// CHECK-LABEL: func.func @chain
// CHECK: gpux.commit_group
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @chain(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %n step %i iter_args(%x = %t) -> !async.token {
    %next = gpux.copy async [%x, %t] %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %next : !async.token
  }
  return
}
