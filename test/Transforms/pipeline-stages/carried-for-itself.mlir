// What a loop carries is read by nothing but what feeds it, and by nobody after the loop.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @carried_for_itself
// CHECK:       scf.for
// CHECK:         arith.addi %{{.*}}, %{{.*}} : i32
// CHECK:       gpu.return
gpu.module @m {
  gpu.func @carried_for_itself(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%part = %zero) -> (i32) {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      %x = memref.load %s[%mirrored] : !Tile
      memref.store %x, %c[%at] : memref<?xi32>
      %more = arith.addi %part, %x : i32
      scf.yield %more : i32
    } {async.num_stages = 3}
    gpu.return
  }
}
