// Which iteration runs is the variable divided by the step, which the check follows up to steps of 2^48; of larger ones, iterations are counted.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: async-sim %t.mlir --refines=%s --kernel=divided | FileCheck %s --check-prefix=DIVIDED
// RUN: async-sim %t.mlir --refines=%s --kernel=counted | FileCheck %s --check-prefix=COUNTED
// DIVIDED: divided: clean
// COUNTED: counted: clean

gpu.module @m {
  // CHECK-LABEL: gpu.func @divided
  // CHECK:       scf.for %[[I:.*]] = %{{.*}} step %[[STEP:[^ ]*]] {
  // CHECK:         arith.divui %[[I]], %[[STEP]]
  gpu.func @divided(%src: memref<32xf32>, %out: memref<32xf32>) workgroup(%dst: memref<32xf32, 3>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %upper = arith.constant 3298534883328 : index
    %step = arith.constant 1099511627776 : index
    scf.for %i = %c0 to %upper step %step {
      %a = gpux.bulk_load async %src, %dst : memref<32xf32> to memref<32xf32, 3>
      async.await %a
      %x = memref.load %dst[%t] : memref<32xf32, 3>
      memref.store %x, %out[%t] : memref<32xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @counted
  // CHECK-NOT:   arith.divui
  // CHECK:       scf.for {{.*}} iter_args(%{{.*}}) -> (i32)
  // CHECK-NOT:   arith.divui
  // CHECK:       gpu.return
  gpu.func @counted(%src: memref<32xf32>, %out: memref<32xf32>) workgroup(%dst: memref<32xf32, 3>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %upper = arith.constant 4611686018427387904 : index
    %step = arith.constant 2305843009213693952 : index
    scf.for %i = %c0 to %upper step %step {
      %a = gpux.bulk_load async %src, %dst : memref<32xf32> to memref<32xf32, 3>
      async.await %a
      %x = memref.load %dst[%t] : memref<32xf32, 3>
      memref.store %x, %out[%t] : memref<32xf32>
    }
    gpu.return
  }
}
