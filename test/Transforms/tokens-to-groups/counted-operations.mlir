// Operations that are counted already, ours and upstream's, take part as they are.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @gpux
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK-NEXT: return
func.func @gpux(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.commit_group <cp_async>
  async.await %t
  return
}

// Groups of another queue don't count.
// CHECK-LABEL: func.func @other_queues
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @other_queues(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <bulk>
  gpux.commit_group <wgmma>
  async.await %t
  return
}

// The given wait completes %t, and not %u, which is committed after it.
// CHECK-LABEL: func.func @waits_complete_tokens
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @waits_complete_tokens(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.wait_group <cp_async>, 0
  async.await %t
  async.await %u
  return
}

// The given commit closes the group of %u, and the given wait completes it.
// CHECK-LABEL: func.func @nvvm
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: return
func.func @nvvm(%src: !src, %dst: !dst, %i: index, %p: !llvm.ptr<3>, %q: !llvm.ptr<1>) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  nvvm.cp.async.shared.global %p, %q, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  async.await %t
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  async.await %u
  return
}

// A wait for the reads of bulk stores does not complete what they write.
// CHECK-LABEL: func.func @nvvm_bulk
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: gpux.wait_group <bulk>, 1
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0
// CHECK-NEXT: return
func.func @nvvm_bulk() {
  %t = gpux.commit_group async <bulk>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  async.await %t
  %u = gpux.commit_group async <bulk>
  nvvm.cp.async.bulk.wait_group 0
  async.await %u
  return
}

// CHECK-LABEL: func.func @nvvm_wgmma
// CHECK: gpux.commit_group <wgmma>
// CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT: gpux.wait_group <wgmma>, 1
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: return
func.func @nvvm_wgmma() {
  %t = gpux.commit_group async <wgmma>
  nvvm.wgmma.commit.group.sync.aligned
  async.await %t
  %u = gpux.commit_group async <wgmma>
  nvvm.wgmma.wait.group.sync.aligned 0
  async.await %u
  return
}

// Upstream's tokens stay what they are, and its groups and waits count: %u is in the same group as upstream's copy.
// CHECK-LABEL: func.func @nvgpu
// CHECK: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: %[[C:[0-9]+]] = nvgpu.device_async_copy
// CHECK-NEXT: %[[G:[0-9]+]] = nvgpu.device_async_create_group %[[C]]
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: nvgpu.device_async_wait %[[G]] {numGroups = 0 : i32}
// CHECK-NEXT: return
func.func @nvgpu(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
  %g = nvgpu.device_async_create_group %c
  async.await %t
  nvgpu.device_async_wait %g {numGroups = 0 : i32}
  async.await %u
  return
}

// An nvgpu wait without a count waits for all.
// CHECK-LABEL: func.func @nvgpu_without_a_count
// CHECK-NOT: gpux.wait_group
// CHECK: return
func.func @nvgpu_without_a_count(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
  %g = nvgpu.device_async_create_group %c
  nvgpu.device_async_wait %g
  async.await %t
  return
}

// A counted copy that is committed nowhere else falls into the group of the next copy; the token's group is older still.
// CHECK-LABEL: func.func @open_counted_copy
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @open_counted_copy(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %u
  return
}

// A wait of the program completes what its number says, and no more.
// CHECK-LABEL: func.func @waited_by_hand
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @waited_by_hand(%src: !src, %dst: !dst, %i: index) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  async.await %t
  async.await %u
  return
}
