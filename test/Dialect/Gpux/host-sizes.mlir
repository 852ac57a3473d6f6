// Sizes are for the runtime to check: folding puts constants in code that is never executed.

// RUN: async-opt %s --canonicalize | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k() kernel {
      gpu.return
    }
  }
  // CHECK-LABEL: func.func @no_blocks
  // CHECK: scf.if
  // CHECK: gpux.alloc (%{{.*}}) : memref<?xf32, #gpu.address_space<global>>
  // CHECK: gpux.async_launch @kernels::@k clusters(%c3, %c1, %c1) blocks(%c0, %c1, %c1) threads(%c4096, %c1, %c1) dynamic_memory
  func.func @no_blocks(%c: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %n = arith.subi %c0, %c1 : index
    %many = arith.constant 4096 : index
    %bytes = arith.constant -1 : i32
    scf.if %c {
      %m = gpux.alloc (%n) : memref<?xf32, #gpu.address_space<global>>
      gpux.async_launch @kernels::@k clusters (%c3, %c1, %c1) blocks (%c0, %c1, %c1) threads (%many, %c1, %c1) dynamic_memory %bytes
      gpux.dealloc %m : memref<?xf32, #gpu.address_space<global>>
    }
    return
  }
}
