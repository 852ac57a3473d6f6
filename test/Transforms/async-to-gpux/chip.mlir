// GPUs before sm_80 have no asynchronous copies, and those before sm_90 no bulk copies.
//
// RUN: async-opt %s --async-to-gpux='chip=sm_75' | FileCheck %s
// RUN: async-opt %s --async-to-gpux='chip=sm_75' 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not async-opt %s --async-to-gpux='engine=tma' 2>&1 | FileCheck %s --check-prefix=TMA
// RUN: not async-opt %s --async-to-gpux='chip=sm_1' --async-to-gpux='chip=gfx90a' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not async-opt %s --async-to-gpux='base-alignment=12' 2>&1 | FileCheck %s --check-prefix=BASE

// OLD: remark: stays synchronous: sm_75 has no asynchronous copies, which begin with sm_80
// TMA: error: engine=tma needs sm_90 or newer, but the chip is sm_80
// UNKNOWN: error: chip is 'gfx90a', which LLVM does not know
// BASE: error: base-alignment is 12, but must be a power of two

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @kernel
  // CHECK: memref.load
  // CHECK-NEXT: memref.store
  gpu.func @kernel(%in: memref<512xf32>) workgroup(%s: memref<512xf32, 3>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : memref<512xf32, 3>
    gpu.return
  }
}
