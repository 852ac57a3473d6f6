// A sum over global memory, with no store in the loop: loads into registers are early, additions late.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @reduction
// CHECK:       scf.for %{{.*}} iter_args(%[[X1:.*]] = %{{.*}}, %[[X0:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (i32, i32, i32)
// CHECK:         %[[X2:.*]] = memref.load %arg0
// CHECK:         %[[NEXT:.*]] = arith.addi %[[SUM]], %[[X0]]
// CHECK:         scf.yield %[[X2]], %[[X1]], %[[NEXT]]
gpu.module @m {
  gpu.func @reduction(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%part = %zero) -> (i32) {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %x = memref.load %a[%at] : memref<?xi32>
      %next = arith.addi %part, %x : i32
      scf.yield %next : i32
    } {async.num_stages = 3}
    memref.store %sum, %c[%t] : memref<?xi32>
    gpu.return
  }
}
