// A wait lets in flight what was committed after the youngest copy that it names.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='drop-implied=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// A wait is never tightened so that a later one may be dropped: 1 and 0, not 0 alone.
// CHECK-LABEL: func.func @in_order
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @in_order(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  async.await %u
  return
}

// CHECK-LABEL: func.func @copies_between
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copies_between(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  %v = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %u
  %w = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %v
  async.await %w
  return
}

// The younger of two joined tokens counts.
// CHECK-LABEL: func.func @join
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @join(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %j = async.join %t, %u
  %v = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %j
  async.await %v
  return
}

// Tokens that are complete by nature have no wait, and no trace of them is left.
// CHECK-LABEL: func.func @ready
// CHECK-NEXT: gpux.copy %
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @ready(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = async.ready
  %p = ub.poison : !async.token
  %j = async.join %r, %p
  async.await
  async.await %r, %j
  async.await %p
  async.await %t, %r
  return
}

// CHECK-LABEL: func.func @nothing_asynchronous
// CHECK-NEXT: return
func.func @nothing_asynchronous() {
  %r = async.ready
  async.await %r
  async.await
  return
}

// CHECK-LABEL: func.func private @declaration
func.func private @declaration(!async.token)
