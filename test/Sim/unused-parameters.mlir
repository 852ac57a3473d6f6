// A parameter that nothing uses is made up, whatever its type: lowering leaves a bare pointer of a tensor map descriptor that descriptors
// of matrices alone named. What is said of it is ignored.
//
// RUN: async-sim %s | FileCheck %s
// RUN: async-sim %s --arg 0=64x64:random --arg 1=random | FileCheck %s
// RUN: sed 's/^ *.. LOAD/%w = llvm.load/' %s | not async-sim - 2>&1 | FileCheck %s --check-prefix=USED

// CHECK: unused: clean
// USED: a parameter of type !llvm.ptr can't be made up
gpu.module @kernels {
  gpu.func @unused(%map: !llvm.ptr, %x: memref<128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %v = memref.load %x[%tid] : memref<128xf32>
    memref.store %v, %x[%tid] : memref<128xf32>
    // LOAD %map : !llvm.ptr -> i32
    gpu.return
  }
}
