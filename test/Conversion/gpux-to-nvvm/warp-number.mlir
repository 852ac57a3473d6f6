// The number of a warp, which upstream does not lower: threads are counted in x first, then in y and z.

// RUN: async-opt %s --gpux-to-nvvm | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: gpu.func @of_one_dimension
  // CHECK: %[[X:.+]] = gpu.thread_id x
  // CHECK: %[[C:.+]] = arith.constant 32 : index
  // CHECK: arith.divui %[[X]], %[[C]]
  // CHECK-NOT: gpu.subgroup_id
  gpu.func @of_one_dimension(%out: memref<8xindex>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %w = gpu.subgroup_id : index
    memref.store %w, %out[%w] : memref<8xindex>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @of_any
  // CHECK-DAG: %[[Z:.+]] = gpu.thread_id z
  // CHECK-DAG: %[[YS:.+]] = gpu.block_dim y
  // CHECK: %[[ZY:.+]] = arith.muli %[[Z]], %[[YS]]
  // CHECK: %[[Y:.+]] = gpu.thread_id y
  // CHECK: %[[YZ:.+]] = arith.addi %[[ZY]], %[[Y]]
  // CHECK: %[[XS:.+]] = gpu.block_dim x
  // CHECK: %[[YX:.+]] = arith.muli %[[YZ]], %[[XS]]
  // CHECK: %[[X:.+]] = gpu.thread_id x
  // CHECK: %[[ALL:.+]] = arith.addi %[[YX]], %[[X]]
  // CHECK: arith.divui %[[ALL]], %
  gpu.func @of_any(%out: memref<8xindex>) kernel {
    %w = gpu.subgroup_id : index
    memref.store %w, %out[%w] : memref<8xindex>
    gpu.return
  }
}
