// A copy that nobody awaits has no wait and needs no commit: it stays open, where no wait can force it, or joins the group
// of a later copy. With `form-groups=false` it has a group of its own, which counts.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s --check-prefixes=CHECK,OPEN
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,EACH

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @younger
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy %
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.wait_group <cp_async>, 1
// OPEN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @younger(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  return
}

// A wait for the younger copy completes the older one in any case, so they may share a group.
// CHECK-LABEL: func.func @older
// CHECK-NEXT: gpux.copy %
// EACH-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @older(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %u
  return
}

// CHECK-LABEL: func.func @alone
// CHECK-NEXT: gpux.copy %
// EACH-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: return
func.func @alone(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  return
}

// An unawaited copy a loop iteration, between a copy and its await in the next iteration. It is open at the await, and
// joins the group of the next copy.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for
// OPEN-NEXT: gpux.wait_group <cp_async>, 0
// EACH-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy %
// EACH-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @in_a_loop(%src: !src, %dst: !dst, %i: index, %n: index) {
  %t = async.ready
  scf.for %k = %i to %n step %i iter_args(%x = %t) -> (!async.token) {
    async.await %x
    %a = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    %b = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    scf.yield %a : !async.token
  }
  return
}
