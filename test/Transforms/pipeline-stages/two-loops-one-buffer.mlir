// Two loops use one buffer, the second one upside down. The first one has as many versions as the second one.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @two_loops_one_buffer
// CHECK:       memref.alloc() {{.*}}: memref<192xi8
// CHECK:       scf.for
// CHECK:         gpux.copy async
// CHECK:       scf.for
// CHECK:         gpux.copy async
gpu.module @m {
  gpu.func @two_loops_one_buffer(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      %x = memref.load %s[%mirrored] : !Tile
      memref.store %x, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%mirrored], 1 : memref<?xi32> to !Tile
      async.await %copy
      %x = memref.load %s[%t] : !Tile
      %y = memref.load %s[%mirrored] : !Tile
      %z = arith.addi %x, %y : i32
      %more = memref.load %c[%at] : memref<?xi32>
      %sum = arith.addi %more, %z : i32
      memref.store %sum, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
