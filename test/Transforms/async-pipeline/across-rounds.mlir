// RUN: async-opt %s --async-pipeline --split-input-file --mlir-print-op-on-diagnostic=false 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file %t.remarks

// The inner loop is known not to run: what is beside it is still executed in each round.

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// REMARK: remark: is not pipelined: it never runs
//
// CHECK-LABEL: gpu.func @never_runs
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} -> (i32)
// CHECK:           scf.yield
// CHECK:         memref.store %[[SUM]], %{{.*}}
gpu.module @m {
  gpu.func @never_runs(%in: memref<?xi32>, %out: memref<?xi32>, %rounds: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %s = memref.alloc() : !Tile
    %sum = scf.for %round = %c0 to %rounds step %c1 iter_args(%part = %one) -> (i32) {
      scf.for %i = %c0 to %c0 step %c1 {
        %copy = gpux.copy async %in[%t], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%t] : !Tile
        memref.store %x, %out[%i] : memref<?xi32>
      } {async.num_stages = 3, async.across_rounds}
      %more = arith.addi %part, %one : i32
      scf.yield %more : i32
    }
    memref.store %sum, %out[%t] : memref<?xi32>
    gpu.return
  }
}

// -----

// The inner loop runs a known number of times, and a round needs what the one before has stored: the pipeline drains.

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// REMARK: remark: is not pipelined across rounds: the nest can't be pipelined as one loop
// REMARK: note: 'memref.store' op may access the same memory, but the schedule executes this one first
//
// CHECK-LABEL: gpu.func @stored_between
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} -> (i32)
// CHECK:           scf.for
// CHECK:             gpux.copy async
// CHECK:         memref.store %[[SUM]], %{{.*}}
gpu.module @m {
  gpu.func @stored_between(%in: memref<?xi32>, %out: memref<?xi32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %s = memref.alloc() : !Tile
    %sum = scf.for %round = %c0 to %c4 step %c1 iter_args(%part = %one) -> (i32) {
      %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%old = %one) -> (i32) {
        %tile = arith.muli %i, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %in[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
        async.await %copy {async.stage = 0, async.order = 1}
        %x = memref.load %s[%t] {async.stage = 0, async.order = 1} : !Tile
        memref.store %x, %out[%at] {async.stage = 0, async.order = 1} : memref<?xi32>
        %y = arith.addi %x, %old {async.stage = 1, async.order = 2} : i32
        scf.yield %y : i32
      } {async.across_rounds}
      memref.store %last, %out[%t] : memref<?xi32>
      %more = arith.addi %part, %last : i32
      scf.yield %more : i32
    }
    memref.store %sum, %out[%t] : memref<?xi32>
    gpu.return
  }
}
