// What takes CUDA's device library is refused where it stands, unless the library is linked later.
//
// RUN: env -u CUDA_ROOT -u CUDA_HOME -u CUDA_PATH async-opt %s --gpux-lower-to-nvvm --verify-diagnostics
// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm 2>&1 | FileCheck %s

// CHECK: llvm.call @__nv_expf
gpu.module @device_library {
  gpu.func @kernel(%a: memref<?xf32>, %i: index) kernel {
    %x = memref.load %a[%i] : memref<?xf32>
    // expected-error @+1 {{needs __nv_expf of CUDA's device library, which is not linked: give toolkit=<folder>}}
    %y = math.exp %x : f32
    memref.store %y, %a[%i] : memref<?xf32>
    gpu.return
  }
}
