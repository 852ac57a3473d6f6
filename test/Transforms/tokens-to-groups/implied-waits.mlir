// An await that earlier waits imply on every path emits nothing. With `drop-implied=false` every await is a wait, for its
// distance in the FIFO.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false drop-implied=false' | FileCheck %s --check-prefixes=CHECK,ALL

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @older_token
// CHECK: gpux.wait_group <cp_async>, 0
// ALL-NEXT: gpux.wait_group <cp_async>, 1
// ALL-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @older_token(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %u
  async.await %t
  async.await %u
  return
}

// CHECK-LABEL: func.func @on_both_paths
// CHECK: scf.if
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: } else {
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// ALL-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @on_both_paths(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    async.await %t
  } else {
    async.await %t
  }
  async.await %t
  return
}

// Where one path has not waited, the await stays; it costs the other path nothing.
// CHECK-LABEL: func.func @on_one_path
// CHECK: scf.if
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @on_one_path(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    async.await %t
  }
  async.await %t
  return
}

// Each tile is awaited twice: at the end of the iteration before, and where it is used. One wait an iteration is enough.
// CHECK-LABEL: func.func @across_iterations
// CHECK: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: scf.for
// ALL-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @across_iterations(%src: !src, %dst: !dst, %i: index, %n: index, %s: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a
  scf.for %k = %i to %n step %s iter_args(%now = %a, %soon = %b, %later = %c) -> (!async.token, !async.token, !async.token) {
    async.await %now
    %next = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
    async.await %soon
    scf.yield %soon, %later, %next : !async.token, !async.token, !async.token
  }
  return
}

// A wait of the program itself implies awaits too. The younger copy, whose group is committed after it, is none of them.
// CHECK-LABEL: func.func @by_a_counted_wait
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.commit_group <cp_async>
// ALL-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @by_a_counted_wait(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.wait_group <cp_async>, 0
  async.await %t
  return
}
