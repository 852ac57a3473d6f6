// Operations that say when they are executed, in two rounds of which the second one copies backwards. What comes after the inner loop is in its last stage.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: block barriers
// CHECK-LABEL: gpu.func @across_rounds
// CHECK-NOT:   scf.for
// CHECK:       gpux.copy async
// CHECK:       scf.for
// CHECK:         gpux.copy async
// CHECK-NOT:   scf.for
// CHECK:         memref.store %{{.*}}, %arg1
// CHECK:         scf.if
// CHECK:           memref.store
gpu.module @m {
  gpu.func @across_rounds(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %c2 = arith.constant 2 : index
    %s = memref.alloc() : !Tile
    scf.for %round = %c0 to %c2 step %c1 {
      scf.for %i = %c0 to %n step %c1 {
        %back = arith.subi %n, %i : index
        %is_second = arith.cmpi eq, %round, %c1 : index
        %row = arith.select %is_second, %back, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 1} : memref<?xi32> to !Tile
        async.await %copy {async.stage = 1, async.order = 0}
        %x = memref.load %s[%mirrored] {async.stage = 1, async.order = 0} : !Tile
        memref.store %x, %c[%at] {async.stage = 1, async.order = 0} : memref<?xi32>
      } {async.across_rounds}
      %end = arith.addi %round, %c16 : index
      %scaled = arith.muli %end, %c16 : index
      %there = arith.addi %scaled, %t : index
      memref.store %zero, %c[%there] : memref<?xi32>
    }
    gpu.return
  }
}
