// A wait becomes an await of what it newly completes.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// Each wait completes one more group.
// CHECK-LABEL: func.func @in_order
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: async.await %[[B]]
// CHECK-NEXT: return
func.func @in_order(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}

// A group of two copies is their join. A copy that no commit follows is in no group, and nobody waits for it.
// CHECK-LABEL: gpu.func @groups
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[G:[a-z0-9_]+]] = async.join %[[A]], %[[B]]
// CHECK-NEXT: gpux.copy async %
// CHECK-NEXT: async.await %[[G]]
// CHECK-NEXT: gpu.return
gpu.module @m {
  gpu.func @groups(%src: !src, %dst: !dst, %i: index) kernel {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}

// One wait completes several groups, the oldest first; there is nothing left for the next ones.
// CHECK-LABEL: func.func @several_at_once
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]], %[[B]]
// CHECK-NEXT: async.await %[[C]]
// CHECK-NEXT: return
func.func @several_at_once(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 2
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  gpux.wait_group <cp_async>, 0
  return
}

// Empty groups count: after one of them, a wait for all but one waits for the copy.
// CHECK-LABEL: func.func @empty_groups
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: "test.note"
// CHECK-NEXT: async.await %[[A]] {note = "kept"}
// CHECK-NEXT: return
func.func @empty_groups(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  gpux.commit_group <cp_async>
  "test.note"() {note = "before"} : () -> ()
  gpux.wait_group <cp_async>, 1 {note = "kept"}
  return
}
