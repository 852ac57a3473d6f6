// The RFC writes the device's memory as memory space 3, which is the workgroup's in kernels.

// RUN: async-opt %s --async-import-gpu="device-space=3" | FileCheck %s

// CHECK: gpu.func @k(%{{.+}}: memref<8xf32, #gpu.address_space<global>>) workgroup(%{{.+}} : memref<8xf32, 3>)
// CHECK-LABEL: func.func @f(
// CHECK-SAME: memref<8xf32>, %{{.+}}: memref<8xf32, #gpu.address_space<global>>)
// CHECK: gpux.alloc async () : memref<8xf32, #gpu.address_space<global>>
// CHECK: gpux.async_launch {{.*}} : memref<8xf32, #gpu.address_space<global>>)
// CHECK: gpux.transfer async %{{.+}}, %{{.+}} : memref<8xf32, #gpu.address_space<global>> to memref<8xf32>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%a: memref<8xf32, 3>) workgroup(%w: memref<8xf32, 3>) kernel {
      gpu.return
    }
  }
  func.func @f(%h: memref<8xf32>, %d: memref<8xf32, 3>) {
    %c1 = arith.constant 1 : index
    %m = gpu.alloc () : memref<8xf32, 3>
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<8xf32, 3>)
    gpu.memcpy %h, %d : memref<8xf32>, memref<8xf32, 3>
    return
  }
}
