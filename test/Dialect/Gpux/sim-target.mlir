// A kernel as code for the simulated device. The object has upstream's target, since those who load it know no other; what it is, is in its
// first line.

// RUN: async-opt %s | async-opt | FileCheck %s --check-prefix=TARGET
// RUN: async-opt %s --gpu-module-to-binary | FileCheck %s
// RUN: async-opt %s --gpu-module-to-binary=format=bin | FileCheck %s

// TARGET: gpu.module @kernels [#gpux.sim_target] {
// CHECK: gpu.binary @kernels
// CHECK-SAME: #gpu.object<#nvvm.target, properties = {asyncopt}, bin = "async-opt kernels {{[0-9.]+}}\0A
// CHECK-SAME: memref.store
// CHECK-NOT: gpu.func
gpu.module @kernels [#gpux.sim_target] {
  gpu.func @k(%x: memref<4xi32>, %value: i32) kernel {
    %i = gpu.thread_id x
    memref.store %value, %x[%i] : memref<4xi32>
    gpu.return
  }
}
