// It is not known what is free in dynamic memory.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined
// SAID: note: iterations can't have versions of this buffer: it is in dynamic memory, where it is not known what is free
// CHECK-LABEL: gpu.func @dynamic_memory
// CHECK-NOT:   iter_args
gpu.module @m {
  gpu.func @dynamic_memory(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %s = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      %x = memref.load %s[%mirrored] : !Tile
      memref.store %x, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
