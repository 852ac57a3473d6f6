// Five results leave by asynchronous stores from one buffer, which has to have been read before it is written again.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @store_of_a_result
// CHECK:       memref.alloc() {{.*}}: memref<192xi8
// CHECK:       memref.alloc() : memref<16xi32
// CHECK:       scf.for
// CHECK:         gpux.copy async
// CHECK:         gpux.bulk_store async
gpu.module @m {
  gpu.func @store_of_a_result(%a: memref<?xi32>, %c: memref<?xi32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %c5 = arith.constant 5 : index
    %s = memref.alloc() : !Tile
    %result = memref.alloc() : !Tile
    scf.for %i = %c0 to %c5 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      %x = memref.load %s[%mirrored] : !Tile
      memref.store %x, %result[%t] : !Tile
      %to = memref.subview %c[%tile] [16] [1] : memref<?xi32> to memref<16xi32, strided<[1], offset: ?>>
      %read, %written = gpux.bulk_store async %result, %to : !Tile to memref<16xi32, strided<[1], offset: ?>>
      async.await %read
      async.await %written
    } {async.num_stages = 3}
    gpu.return
  }
}
