// Sums start anew where a round ends, so that they stay in their registers: nothing is selected at its start.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @across_rounds_floats
// CHECK:       scf.for
// CHECK:         %[[SUM:.*]] = arith.addf
// CHECK:         scf.if %{{.*}} -> (f32)
// CHECK-NEXT:      memref.store %[[SUM]]
// CHECK-NEXT:      scf.yield %cst
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[SUM]]
gpu.module @m {
  gpu.func @across_rounds_floats(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %zero_f = arith.constant 0.0 : f32
    %s = memref.alloc() : !Tile
    %c2 = arith.constant 2 : index
    scf.for %round = %c0 to %n step %c1 {
      %sum = scf.for %i = %c1 to %c3 step %c1 iter_args(%part = %zero_f) -> (f32) {
        %rows = arith.muli %round, %c2 : index
        %row = arith.addi %rows, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xf32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        %more = arith.addf %part, %x : f32
        scf.yield %more : f32
      } {async.num_stages = 3, async.across_rounds}
      %scaled = arith.muli %round, %c16 : index
      %there = arith.addi %scaled, %t : index
      memref.store %sum, %c[%there] : memref<?xf32>
    }
    gpu.return
  }
}
