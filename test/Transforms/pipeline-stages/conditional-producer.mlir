// A tile is copied and read under one condition, and the last tile ends early: what is behind its end is zero.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 2 transfers in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @conditional_producer
// CHECK-DAG:   memref.alloc() {{.*}}: memref<192xi8
// CHECK-DAG:   memref.alloc() {{.*}}: memref<192xi8
// CHECK:       scf.for
// CHECK:         async.await
// CHECK:         gpux.copy async
gpu.module @m {
  gpu.func @conditional_producer(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %c40 = arith.constant 40 : index
    %s = memref.alloc() : !Tile
    %r = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %is_there = arith.cmpi ult, %at, %c40 : index
      %count = arith.select %is_there, %c1, %c0 : index
      %copy = gpux.copy async %a[%at], %s[%t], 1, %count : memref<?xi32> to !Tile
      %phase = arith.remui %i, %c3 : index
      %has_more = arith.cmpi eq, %phase, %c1 : index
      %more = scf.if %has_more -> !async.token {
        %some = gpux.copy async %a[%at], %r[%t], 1 : memref<?xi32> to !Tile
        scf.yield %some : !async.token
      } else {
        %none = async.ready
        scf.yield %none : !async.token
      }
      async.await %copy, %more
      %x = memref.load %s[%mirrored] : !Tile
      %y = scf.if %has_more -> i32 {
        %some = memref.load %r[%mirrored] : !Tile
        scf.yield %some : i32
      } else {
        scf.yield %zero : i32
      }
      %sum = arith.addi %x, %y : i32
      memref.store %sum, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
