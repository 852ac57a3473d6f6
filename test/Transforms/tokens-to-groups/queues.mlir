// Each hardware queue is counted on its own; tokens of several make a wait on each.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @two_queues_in_one_await
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0 {test.mark}
// CHECK-NEXT: gpux.wait_group <bulk>, 1 {test.mark}
// CHECK-NEXT: return
func.func @two_queues_in_one_await(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.commit_group async <bulk>
  %c = gpux.commit_group async <bulk>
  async.await %a, %b {test.mark}
  return
}

// A token that is of one queue or of another, and the groups of both after it.
// CHECK-LABEL: func.func @either_queue
// CHECK: } else {
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.wait_group <bulk>, 0
// CHECK-NEXT: gpux.wait_group <wgmma>, 2
// CHECK-NEXT: return
func.func @either_queue(%c: i1) {
  %x = scf.if %c -> !t {
    %a = gpux.commit_group async <bulk>
    scf.yield %a : !t
  } else {
    %b = gpux.commit_group async <wgmma>
    scf.yield %b : !t
  }
  %d = gpux.commit_group async <wgmma>
  %e = gpux.commit_group async <wgmma>
  async.await %x
  return
}

// A commit that is given takes all copies that are open, and its token denotes its group.
// CHECK-LABEL: func.func @given_commits
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async> {test.first}
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>{{$}}
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @given_commits(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  %a = gpux.commit_group async <cp_async> {test.first}
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.commit_group async <cp_async>
  async.await %a
  async.await %b
  return
}

// A pipeline whose commits are given.
// CHECK-LABEL: func.func @given_pipeline
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <bulk>, 1
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <bulk>, 0
// CHECK-NEXT: return
func.func @given_pipeline(%i: index, %n: index) {
  %a = gpux.commit_group async <bulk>
  %b = gpux.commit_group async <bulk>
  %r:2 = scf.for %k = %i to %n step %i iter_args(%x = %a, %y = %b) -> (!t, !t) {
    async.await %x
    %c = gpux.commit_group async <bulk>
    scf.yield %y, %c : !t, !t
  }
  async.await %r#1
  return
}
