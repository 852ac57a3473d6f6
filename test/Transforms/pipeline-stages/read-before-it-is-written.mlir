// A tile is read in the iteration after the one that copies it: a dependence through memory, which versions would break.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined
// SAID: note: 'gpux.copy' op may access the same memory, but the schedule executes this one first
// SAID: note: what comes first; give it an earlier stage or order, or the other one a later one
// SAID: note: iterations can't have versions of this buffer: the loop reads it before it writes it
// CHECK-LABEL: gpu.func @read_before_it_is_written
// CHECK:       scf.for
// CHECK-NEXT:    memref.load
// CHECK-NOT:   scf.for
gpu.module @m {
  gpu.func @read_before_it_is_written(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    memref.store %zero, %s[%t] : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %s[%mirrored] : !Tile
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      memref.store %x, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
