// A kernel that takes a pointer for a tensor map descriptor is launched with a pointer.
//
// RUN: async-opt %s --gpux-lower-launches | FileCheck %s

!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @load(%map: !llvm.ptr, %n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
    llvm.func @add(%n: i64, %from: !llvm.ptr, %to: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
    llvm.func @plain(%n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }

  // CHECK-LABEL: func.func @one
  // CHECK: %[[X:.*]] = nvgpu.tma.create.descriptor
  // CHECK: %[[PTR:.*]] = builtin.unrealized_conversion_cast %[[X]] : {{.*}} to !llvm.ptr
  // CHECK: gpu.launch_func @kernels::@load {{.*}}args(%[[PTR]] : !llvm.ptr, %{{.*}} : i64)
  func.func @one(%a: memref<*xf32>, %size: index, %n: i64) {
    %x = nvgpu.tma.create.descriptor %a box[%size, %size] : memref<*xf32> -> !tile
    gpu.launch_func @kernels::@load blocks in (%size, %size, %size) threads in (%size, %size, %size)
        args(%x : !tile, %n : i64)
    return
  }

  // A descriptor may come from anywhere, and be handed over twice.
  //
  // CHECK-LABEL: func.func @same_twice
  // CHECK-SAME: %[[X:[a-z0-9]+]]: !nvgpu.tensormap.descriptor
  // CHECK: %[[A:.*]] = builtin.unrealized_conversion_cast %[[X]] : {{.*}} to !llvm.ptr
  // CHECK: %[[B:.*]] = builtin.unrealized_conversion_cast %[[X]] : {{.*}} to !llvm.ptr
  // CHECK: gpu.launch_func @kernels::@add {{.*}}args(%{{.*}} : i64, %[[A]] : !llvm.ptr, %[[B]] : !llvm.ptr)
  func.func @same_twice(%x: !tile, %size: index, %n: i64) {
    gpu.launch_func @kernels::@add blocks in (%size, %size, %size) threads in (%size, %size, %size)
        args(%n : i64, %x : !tile, %x : !tile)
    return
  }

  // CHECK-LABEL: func.func @no_descriptor
  // CHECK-NOT: unrealized_conversion_cast
  // CHECK: gpu.launch_func @kernels::@plain {{.*}}args(%{{.*}} : i64)
  func.func @no_descriptor(%size: index, %n: i64) {
    gpu.launch_func @kernels::@plain blocks in (%size, %size, %size) threads in (%size, %size, %size)
        args(%n : i64)
    return
  }
}
