// The next round copies what this one has stored: it can't do so before.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined across rounds: the nest can't be pipelined as one loop
// SAID: note: 'gpux.copy' op may access the same memory, but the schedule executes this one first
// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @across_rounds_dependence
// CHECK:       scf.for
// CHECK:         gpux.copy async
// CHECK:         scf.for
// CHECK:           gpux.copy async
// CHECK-NOT:   async.across_rounds
gpu.module @m {
  gpu.func @across_rounds_dependence(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %round = %c0 to %c3 step %c1 {
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%part = %zero) -> (i32) {
        %tile = arith.muli %i, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        %more = arith.addi %part, %x : i32
        scf.yield %more : i32
      } {async.num_stages = 3, async.across_rounds}
      memref.store %sum, %a[%t] : memref<?xi32>
      memref.store %sum, %c[%t] : memref<?xi32>
    }
    gpu.return
  }
}
