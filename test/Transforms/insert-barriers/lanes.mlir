// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Lanes and subgroups are functions of the thread's number in the block: a subgroup is a warp of 32 threads.

!rows = memref<2x32xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @own_element
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @own_element(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !rows) kernel
      attributes {known_block_size = array<i32: 8, 8, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %before = arith.muli %ty, %c8 : index
    %t = arith.addi %before, %tx : index
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    %size = gpu.subgroup_size : index
    %row = arith.divui %t, %size : index
    %column = arith.remui %t, %size : index
    scf.for %i = %c0 to %n step %c1 {
      memref.store %x, %s[%warp, %lane] : !rows
      %v = memref.load %s[%row, %column] : !rows
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // Each warp has its own slot, the other one in the next iteration.
  //
  // CHECK-LABEL: gpu.func @warps_take_turns
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @warps_take_turns(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    scf.for %i = %c0 to %n step %c1 {
      %number = arith.addi %i, %warp : index
      %slot = arith.andi %number, %c1 : index
      memref.store %x, %s[%slot, %lane] : !rows
      %v = memref.load %s[%slot, %lane] : !rows
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // There are as many subgroups as rows.
  //
  // CHECK-LABEL: gpu.func @mirrored_row
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK: gpu.return
  gpu.func @mirrored_row(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %lane = gpu.lane_id
    %warps = gpu.num_subgroups : index
    %last = arith.subi %warps, %c1 : index
    %other = arith.subi %last, %warp : index
    memref.store %x, %s[%warp, %lane] : !rows
    %v = memref.load %s[%other, %lane] : !rows
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
}
