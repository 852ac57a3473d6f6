// The pipeline warns, unless it is told not to.
//
// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm 2>&1 | FileCheck %s --check-prefix=WARNS
// RUN: async-opt %s --gpux-lower-to-nvvm="format=llvm lint=false" 2>&1 | FileCheck %s --check-prefix=SILENT

// WARNS: warning: 'gpux.copy' op has a token that nobody awaits
// SILENT-NOT: warning
gpu.module @kernels {
  gpu.func @kernel(%src: memref<64xf32>, %i: index) workgroup(%dst: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %token = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
