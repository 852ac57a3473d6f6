// Indices are copied to workgroup memory, awaited, and say where tiles are copied from: a stage for the indices, and one for the
// tiles. A round has one wait, which leaves the older tile in flight, and one barrier: there are two versions of the indices.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t
// RUN: sed 's/num_stages = 3/num_stages = 4/' %s | async-opt --async-pipeline --gpux-tokens-to-groups 2>/dev/null | FileCheck %s --check-prefix=FOUR
// RUN: sed 's/num_stages = 3/num_stages = 2/' %s | async-opt --async-pipeline -o %t 2>&1 | FileCheck %s --check-prefix=TWO

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, 1 transfer in stage 1, the rest in stages 1 and 2
// TWO: remark: pipelined: 2 transfers in stage 0, the rest in stages 0 and 1; some wait for others of their stage, which 3 stages would keep apart
// CHECK-LABEL: gpu.func @gather
// CHECK-DAG:   memref.alloc() {{.*}}: memref<128xi8
// CHECK-DAG:   memref.alloc() {{.*}}: memref<128xi8
// CHECK:       scf.for %{{.*}} iter_args(%[[INDICES:.*]] = %{{.*}}, %[[TILE:.*]] = %{{.*}}, %{{.*}}) -> (!async.token, !async.token, i32)
// CHECK-DAG:     async.await %[[TILE]]
// CHECK-DAG:     async.await %[[INDICES]]
// CHECK:         gpu.barrier
// CHECK:         %[[NEXT:.*]] = gpux.copy async
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.load
// CHECK-NOT:     gpu.barrier
// CHECK:         %[[NEXT_TILE:.*]] = gpux.copy async
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.store
// CHECK:         scf.yield %[[NEXT]], %[[NEXT_TILE]]
//
// FOUR:        scf.for
// FOUR-NOT:      gpux.wait_group
// FOUR:          gpux.wait_group <cp_async>, 1
// FOUR-NEXT:     gpu.barrier
// FOUR-NOT:      gpux.wait_group
// FOUR-NOT:      gpu.barrier
// FOUR:          scf.yield
gpu.module @m {
  gpu.func @gather(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %indices = memref.alloc() : !Tile
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %indices[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      gpu.barrier
      %number = memref.load %indices[%mirrored] : !Tile
      %as_index = arith.index_cast %number : i32 to index
      %times = arith.muli %as_index, %c5 : index
      %from = arith.remui %times, %c64 : index
      %gathered = gpux.copy async %a[%from], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %gathered
      gpu.barrier
      %x = memref.load %s[%mirrored] : !Tile
      memref.store %x, %c[%at] : memref<?xi32>
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}
