// What the last iteration has copied is read after it, in the next iteration of the loop around both. What comes after that loop
// overwrites the buffer, but too late.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined
// SAID: note: iterations can't have versions of this buffer: it is read after the loop
// CHECK-LABEL: gpu.func @read_in_the_next_round
// CHECK:       memref.alloc() : memref<16xi32
gpu.module @m {
  gpu.func @read_in_the_next_round(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %c64 = arith.constant 64 : index
    %s = memref.alloc() : !Tile
    memref.store %zero, %s[%t] : !Tile
    scf.for %round = %c0 to %c3 step %c1 {
      %old = memref.load %s[%mirrored] : !Tile
      %first = arith.muli %round, %c16 : index
      %there = arith.addi %first, %t : index
      memref.store %old, %c[%there] : memref<?xi32>
      scf.for %i = %c0 to %n step %c1 {
        %tile = arith.muli %i, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        %after = arith.addi %at, %c64 : index
        memref.store %x, %c[%after] : memref<?xi32>
      } {async.num_stages = 3}
    }
    memref.store %zero, %s[%t] : !Tile
    %last = memref.load %s[%mirrored] : !Tile
    memref.store %last, %c[%t] : memref<?xi32>
    gpu.return
  }
}
