// RUN: async-opt %s --async-pipeline=epilogue=predicate | FileCheck %s

// The loop has the last rounds, too. A copy that has nothing left to do makes a token that is complete; the number of groups is
// made the same by --gpux-tokens-to-groups.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @predicated
// CHECK:         %[[TRIPS:.*]] = arith.select
// CHECK:         %[[END:.*]] = arith.select
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %[[TRIPS]] step
// CHECK:           %[[RUNS:.*]] = arith.cmpi slt, %[[I]], %[[END]]
// CHECK:           async.await
// CHECK:           scf.if %[[RUNS]] -> (!async.token)
// CHECK:             gpux.copy async
// CHECK:           } else {
// CHECK-NEXT:        async.ready
// CHECK:           }
// CHECK:           memref.load
// CHECK:         }
// CHECK-NOT:     async.await
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @predicated(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 {async.stage = 0, async.order = 1} : memref<?xf32> to !Tile
      async.await %token {async.stage = 1, async.order = 0}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 2} : !Tile
      memref.store %v, %out[%from] {async.stage = 1, async.order = 2} : memref<?xf32>
    }
    gpu.return
  }
}
