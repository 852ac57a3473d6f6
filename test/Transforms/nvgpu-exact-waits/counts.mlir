// RUN: async-opt %s --nvgpu-exact-waits --split-input-file | FileCheck %s

// Without a count a wait waits for all groups; it need not.
// CHECK-LABEL: @without_counts
func.func @without_counts(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %3
  return
}

// -----

// CHECK-LABEL: @implied_waits_go
func.func @implied_waits_go(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // CHECK-NOT: nvgpu.device_async_wait
  nvgpu.device_async_wait %3
  nvgpu.device_async_wait %1
  nvgpu.device_async_wait %1 {numGroups = 1 : i32}
  return
}

// -----

// The token of the copy is as good as that of its group, and attributes stay.
// CHECK-LABEL: @token_of_a_copy
func.func @token_of_a_copy(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {name = "first", numGroups = 1 : i32}
  nvgpu.device_async_wait %0 {name = "first"}
  return
}

// -----

// A group has all the copies before it that no group has yet, whatever its operands: %0 is in the group of %1, which
// names no copy, and %3 is empty, though it names %0.
// CHECK-LABEL: @groups_take_all_copies
func.func @groups_take_all_copies(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %0
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %0
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %2
  return
}

// -----

// Groups and waits that were lowered already count too.
// CHECK-LABEL: @counted_operations
func.func @counted_operations(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  nvvm.cp.async.commit.group
  %1 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  nvvm.cp.async.commit.group
  nvvm.cp.async.commit.group
  // CHECK: nvvm.cp.async.wait.group 2
  nvvm.cp.async.wait.group 2
  // CHECK-NEXT: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %0
  nvgpu.device_async_wait %1
  return
}

// -----

// CHECK-LABEL: gpu.func @kernel
gpu.module @kernels {
  gpu.func @kernel(%src: memref<64xf32>, %i: index) workgroup(%a: memref<64xf32, 3>) kernel {
    %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %1 = nvgpu.device_async_create_group %0
    %2 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %1
    gpu.return
  }
}
