// Attributes that are nobody's own stay on the copy, and move from the await to its wait.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @copy_and_await
// CHECK-NEXT: gpux.copy %{{.*}}, 4 {bypass_l1, test.a = 1 : i64} : memref<64xf32> to memref<64xf32, 3>
// CHECK-NEXT: gpux.commit_group <cp_async>{{$}}
// CHECK-NEXT: gpux.wait_group <cp_async>, 0 {test.b, test.c = "c"}
// CHECK-NEXT: return
func.func @copy_and_await(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 {bypass_l1, test.a = 1 : i64} : !src to !dst
  async.await %a {test.b, test.c = "c"}
  return
}

// A dependency is an await that nobody wrote: the copy keeps its attributes to itself.
// CHECK-LABEL: func.func @dependency
// CHECK: gpux.wait_group <cp_async>, 0{{$}}
// CHECK-NEXT: gpux.copy %{{.*}}, %{{[a-z0-9]+}} {test.a} :
func.func @dependency(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async [%a] %src[%i], %dst[%i], 4, %n {test.a} : !src to !dst
  return
}

// CHECK-LABEL: func.func @commit
// CHECK-NEXT: gpux.commit_group <bulk> {test.a}
func.func @commit() {
  %a = gpux.commit_group async <bulk> {test.a}
  return
}

// CHECK-LABEL: func.func @control_flow
// CHECK: scf.for
// CHECK: } {test.loop}
// CHECK: scf.if
// CHECK: } {test.branch}
func.func @control_flow(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r = scf.for %k = %i to %n step %i iter_args(%x = %a) -> !async.token {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %x
    scf.yield %b : !async.token
  } {test.loop}
  %s = scf.if %c -> !async.token {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %b : !async.token
  } else {
    scf.yield %r : !async.token
  } {test.branch}
  async.await %s
  return
}

// Locations stay as well.
// RUN: async-opt %s --gpux-tokens-to-groups --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC
// LOC-LABEL: func.func @locations
// LOC: gpux.copy {{.*}} loc("copy")
// LOC: gpux.commit_group {{.*}} loc("copy")
// LOC: gpux.wait_group {{.*}} loc("await")
func.func @locations(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst loc("copy")
  async.await %a loc("await")
  return
}
