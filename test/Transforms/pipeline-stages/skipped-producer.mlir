// A tile is copied in every third iteration, and read in all of them. With versions, others would read an older tile.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined
// SAID: note: iterations can't have versions of this buffer: it keeps what it holds where the condition of a write is false
// CHECK-LABEL: gpu.func @skipped_producer
// CHECK:       memref.alloc() : memref<16xi32
// CHECK-NOT:   iter_args
gpu.module @m {
  gpu.func @skipped_producer(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %phase = arith.remui %i, %c3 : index
      %fills = arith.cmpi eq, %phase, %c0 : index
      %copy = scf.if %fills -> !async.token {
        %some = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        scf.yield %some : !async.token
      } else {
        %none = async.ready
        scf.yield %none : !async.token
      }
      async.await %copy
      %x = memref.load %s[%mirrored] : !Tile
      memref.store %x, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
