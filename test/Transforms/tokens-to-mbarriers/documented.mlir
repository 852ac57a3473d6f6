// The kernel of docs/Passes/tokens-to-mbarriers.md.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - | FileCheck %s --check-prefix=CLEAN

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @copy
// CHECK: nvgpu.mbarrier.create
// CHECK: nvgpu.mbarrier.arrive.expect_tx
// CHECK-NEXT: gpux.bulk_load
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.mbarrier.inval
// CHECK: memref.load
//
// CLEAN: copy: clean
gpu.module @kernels {
  gpu.func @copy(%x: !line, %y: !line) workgroup(%tile: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %i = gpu.thread_id x
    %token = gpux.bulk_load async %x, %tile : !line to !row
    async.await %token
    %v = memref.load %tile[%i] : !row
    memref.store %v, %y[%i] : !line
    gpu.return
  }
}
