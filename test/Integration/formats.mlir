// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm | FileCheck %s --check-prefix=LLVM
// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm | async-translate --ptx | FileCheck %s --check-prefix=PTX
// RUN: async-opt %s --gpux-lower-to-nvvm=format=isa | FileCheck %s --check-prefix=ISA
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=bin" | FileCheck %s --check-prefix=BIN
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a" | async-translate --ptx | FileCheck %s --check-prefix=SM90
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_100a" | async-translate --ptx | FileCheck %s --check-prefix=SM100
// RUN: async-opt %s --gpux-lower-to-nvvm="features=+ptx84" | async-translate --ptx | FileCheck %s --check-prefix=FEATURES

// LLVM: gpu.module @formats [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">]
// LLVM: llvm.func @kernel
// LLVM: nvvm.cp.async.wait.group 0
// PTX: .target sm_80
// PTX: cp.async.wait_group 0;
// ISA: gpu.binary @formats
// ISA-SAME: assembly =
// BIN: gpu.binary @formats
// BIN-SAME: bin =
// SM90: .version 8.3
// SM90: .target sm_90a
// SM100: .target sm_100a
// FEATURES: .version 8.4
gpu.module @formats {
  gpu.func @kernel(%src: memref<?xf32>, %i: index) workgroup(%dst: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<?xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    async.await %t
    gpu.return
  }
}
