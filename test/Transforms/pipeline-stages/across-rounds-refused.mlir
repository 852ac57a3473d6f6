// Rounds that differ in length, and a loop around that is no `scf.for`: the pipeline drains in each round.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined across rounds: the loop around it is not an 'scf.for' that it is directly in
// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// SAID: remark: is not pipelined across rounds: how often it runs depends on the round
// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @across_rounds_refused
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           gpux.copy async
// CHECK:       scf.while
// CHECK:         scf.for
// CHECK:           gpux.copy async
// CHECK-NOT:   async.across_rounds
gpu.module @m {
  gpu.func @across_rounds_refused(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %round = %c0 to %c3 step %c1 {
      scf.for %i = %round to %n step %c1 {
        %rows = arith.muli %round, %n : index
        %row = arith.addi %rows, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        memref.store %x, %c[%at] : memref<?xi32>
      } {async.num_stages = 3, async.across_rounds}
    }
    %rounds = scf.while (%round = %c0) : (index) -> index {
      %more = arith.cmpi ult, %round, %c3 : index
      scf.condition(%more) %round : index
    } do {
    ^bb0(%round: index):
      scf.for %i = %c0 to %n step %c1 {
        %rows = arith.muli %round, %n : index
        %row = arith.addi %rows, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        memref.store %x, %c[%at] : memref<?xi32>
      } {async.num_stages = 3, async.across_rounds}
      %next = arith.addi %round, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }
}
