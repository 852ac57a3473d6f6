// RUN: async-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(nvgpu-exact-waits)))' | FileCheck %s
// RUN: async-opt %s --pass-pipeline='builtin.module(func.func(nvgpu-exact-waits))' | FileCheck %s --check-prefix=HOST

// The pass runs where it is put.

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @kernel
  // HOST-LABEL: gpu.func @kernel
  gpu.func @kernel(%src: memref<64xf32>, %i: index) workgroup(%a: memref<64xf32, 3>) kernel {
    %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %1 = nvgpu.device_async_create_group %0
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
    // HOST: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %1 {numGroups = 1 : i32}
    gpu.return
  }
}

// CHECK-LABEL: func.func @function
// HOST-LABEL: func.func @function
func.func @function(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // CHECK-COUNT-2: nvgpu.device_async_wait
  // HOST: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // HOST-NOT: nvgpu.device_async_wait
  nvgpu.device_async_wait %1
  nvgpu.device_async_wait %1
  return
}
