// Upstream's copies: the hardware's groups count, and not the tokens of `nvgpu`, which go.
//
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!src = memref<?x64xf16>
!dst = memref<4x64xf16, #gpu.address_space<workgroup>>
!t = !nvgpu.device.async.token

// The wait names the group of this iteration, and completes all but one: the one before it.
// CHECK-LABEL: func.func @with_counts
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 8 {bypass_l1}
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = scf.for {{.*}} iter_args(%[[OLD:[a-z0-9_]+]] = %[[A]]) -> (!async.token) {
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 8, %
// CHECK-NEXT: async.await %[[OLD]]
// CHECK-NEXT: scf.yield %[[NEW]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: return
func.func @with_counts(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = nvgpu.device_async_copy %src[%i, %i], %dst[%i, %i], 8 {bypassL1} : !src to !dst
  %g = nvgpu.device_async_create_group %a
  %r = scf.for %k = %i to %n step %i iter_args(%x = %g) -> !t {
    %b = nvgpu.device_async_copy %src[%k, %i], %dst[%k, %i], 8, %i : !src to !dst
    %h = nvgpu.device_async_create_group %b
    nvgpu.device_async_wait %h {numGroups = 1 : i32}
    scf.yield %h : !t
  }
  nvgpu.device_async_wait %r {numGroups = 0 : i32}
  return
}

// Without a count, all groups are waited for, whatever the token. A group has all copies since the last one.
// CHECK-LABEL: func.func @without_counts
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[G:[a-z0-9_]+]] = async.join %[[A]], %[[B]]
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[G]], %[[C]]
// CHECK-NEXT: return
func.func @without_counts(%src: !src, %dst: !dst, %i: index) {
  %a = nvgpu.device_async_copy %src[%i, %i], %dst[%i, %i], 8 : !src to !dst
  %b = nvgpu.device_async_copy %src[%i, %i], %dst[%i, %i], 8 : !src to !dst
  %g = nvgpu.device_async_create_group %b
  %c = nvgpu.device_async_copy %src[%i, %i], %dst[%i, %i], 8 : !src to !dst
  %h = nvgpu.device_async_create_group %c
  nvgpu.device_async_wait %g
  return
}
