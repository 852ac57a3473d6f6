// The body computes slots itself, as `(k floordiv 16) mod 3`. Three slots are enough for three stages.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Slots = memref<3x16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @slots_of_the_body
// CHECK:       memref.alloc() : memref<3x16xi32
// CHECK:       scf.for
// CHECK:         async.await
// CHECK:         gpux.copy async
gpu.module @m {
  gpu.func @slots_of_the_body(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Slots
    %end = arith.muli %n, %c16 : index
    scf.for %k = %c0 to %end step %c16 {
      %number = arith.divui %k, %c16 : index
      %slot = arith.remui %number, %c3 : index
      %at = arith.addi %k, %t : index
      %copy = gpux.copy async %a[%at], %s[%slot, %t], 1 : memref<?xi32> to !Slots
      async.await %copy
      %x = memref.load %s[%slot, %mirrored] : !Slots
      memref.store %x, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
