// Each thread adds up tiles in workgroup memory. The sum has one version, and stays in the last stage.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @accumulation
// CHECK:       memref.alloc() {{.*}}: memref<192xi8
// CHECK:       memref.alloc() : memref<16xi32
// CHECK:       scf.for
// CHECK:         async.await
// CHECK:         gpux.copy async
// CHECK:         memref.load
// CHECK:         memref.store
gpu.module @m {
  gpu.func @accumulation(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    %sums = memref.alloc() : !Tile
    memref.store %zero, %sums[%t] : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
      async.await %copy
      %x = memref.load %s[%mirrored] : !Tile
      %sum = memref.load %sums[%t] : !Tile
      %more = arith.addi %sum, %x : i32
      memref.store %more, %sums[%t] : !Tile
    } {async.num_stages = 3}
    %all = memref.load %sums[%mirrored] : !Tile
    memref.store %all, %c[%t] : memref<?xi32>
    gpu.return
  }
}
