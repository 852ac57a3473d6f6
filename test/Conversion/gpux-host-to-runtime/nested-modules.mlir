// What is made for an operation is in the module of that: functions and strings are found in the nearest symbol table.

// RUN: async-opt %s --gpux-host-to-runtime | FileCheck %s
// RUN: async-opt %s --async-lower-to-cpu | FileCheck %s --check-prefix=CPU

// CHECK:      module @outer {
// CHECK-NOT:  llvm.mlir.global
// CHECK-NOT:  asyncopt_rt
// CHECK:        module @inner
// CHECK-DAG:      llvm.mlir.global internal constant @asyncopt_string
// CHECK-DAG:      func.func private @asyncopt_rt_device_alloc(
// CHECK-DAG:      func.func @main

// CPU:      module @outer {
// CPU-NOT:  llvm.func
// CPU:        module @inner
// CPU-DAG:      llvm.func @asyncopt_rt_create(
// CPU-DAG:      llvm.mlir.global internal constant @main_task0_type
// CPU-DAG:      llvm.func @main()
module @outer {
  module @inner attributes {gpu.container_module} {
    gpu.module @kernels {
      gpu.func @nothing(%m: memref<4xf32, #gpu.address_space<global>>) kernel {
        gpu.return
      }
    }
    func.func @main() {
      %c1 = arith.constant 1 : index
      %r, %t = gpux.alloc async () : memref<4xf32, #gpu.address_space<global>>
      %u = gpux.async_launch async [%t] @kernels::@nothing blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1) args(%r : memref<4xf32, #gpu.address_space<global>>)
      async.await %u
      gpux.dealloc %r : memref<4xf32, #gpu.address_space<global>>
      return
    }
  }
}
