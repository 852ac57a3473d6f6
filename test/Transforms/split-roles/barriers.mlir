// A barrier of the block between what is for some warps becomes one by number, to which all come in different places; also where it stands
// by itself among what is copied. What it takes is computed before the copies.
//
// RUN: async-opt %s --gpux-split-roles --canonicalize | FileCheck %s

// CHECK-LABEL: gpu.func @kernel
// CHECK-DAG:     %[[NUMBER:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[THREADS:.*]] = arith.constant 96 : i32
// CHECK:         scf.if
// CHECK-NOT:     else
// CHECK:           nvvm.barrier id = %c1_i32
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      nvvm.barrier id = %[[NUMBER]] number_of_threads = %[[THREADS]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      nvvm.barrier id = %[[NUMBER]] number_of_threads = %[[THREADS]]
// CHECK-NEXT:      memref.load
// CHECK-NOT:     barrier
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @kernel(%out: memref<96xf32>, %v: f32) workgroup(%a: memref<1xf32, #gpu.address_space<workgroup>>) kernel attributes {gpux.roles, known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 32 : i32
    scf.if %first {
      nvvm.barrier id = %id number_of_threads = %threads
      memref.store %v, %a[%c0] : memref<1xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    scf.if %first {
    } else {
      %w = memref.load %a[%c0] : memref<1xf32, #gpu.address_space<workgroup>>
      memref.store %w, %out[%thread] : memref<96xf32>
    }
    gpu.return
  }
}
