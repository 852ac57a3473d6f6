// The same, with copies in flight from round to round: one loop, whose prologue and epilogue come once.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @across_rounds
// CHECK-NOT:   scf.for
// CHECK:       gpux.copy async
// CHECK:       gpux.copy async
// CHECK:       scf.for
// CHECK:         async.await
// CHECK-NEXT:    gpu.barrier
// CHECK:         gpux.copy async
// CHECK-NOT:   scf.for
gpu.module @m {
  gpu.func @across_rounds(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %round = %c0 to %c3 step %c1 {
      scf.for %i = %c0 to %n step %c1 {
        %rows = arith.muli %round, %n : index
        %row = arith.addi %rows, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 : memref<?xi32> to !Tile
        async.await %copy
        %x = memref.load %s[%mirrored] : !Tile
        memref.store %x, %c[%at] : memref<?xi32>
      } {async.num_stages = 3, async.across_rounds}
    }
    gpu.return
  }
}
