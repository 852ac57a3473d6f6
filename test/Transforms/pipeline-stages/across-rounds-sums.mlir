// Each round has a sum of its own, which starts from what a load says, and is stored at the end of the round; the outer loop
// carries the sum of all, and where the round begins. A round without tiles has the sum that it starts from.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @across_rounds_sums
// CHECK:       scf.if
// CHECK:         gpux.copy async
// CHECK:         scf.for
// CHECK:           gpux.copy async
// CHECK:           scf.if
// CHECK:             memref.store
// CHECK:       scf.for %{{.*}} = %c0 to %c3
// CHECK-NOT:     scf.for
// CHECK:         memref.store
gpu.module @m {
  gpu.func @across_rounds_sums(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
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
    %c500 = arith.constant 500 : index
    %all, %end = scf.for %round = %c0 to %c3 step %c1 iter_args(%so_far = %zero, %first = %c0) -> (i32, index) {
      %scaled = arith.muli %round, %c16 : index
      %there = arith.addi %scaled, %t : index
      %start = memref.load %a[%there] : memref<?xi32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%part = %start) -> (i32) {
        %row = arith.addi %first, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        %more = arith.addi %part, %x : i32
        scf.yield %more : i32
      } {async.num_stages = 3, async.across_rounds}
      memref.store %sum, %c[%there] : memref<?xi32>
      %total = arith.addi %so_far, %sum : i32
      %next = arith.addi %first, %n : index
      scf.yield %total, %next : i32, index
    }
    %last = arith.addi %c500, %t : index
    memref.store %all, %c[%last] : memref<?xi32>
    gpu.return
  }
}
