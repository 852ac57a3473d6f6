// Tiles whose last part is zeros, as people write it: an arm that stores zeros, a branch that yields them, a choice of them. Three copies,
// which read nothing there: what a thread would read is out of bounds.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 3 transfers in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @masked_tail
// CHECK:       scf.for
// CHECK:         async.await
// CHECK-NEXT:    gpu.barrier
// CHECK-NOT:     scf.if
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult
// CHECK-NOT:     scf.if
// CHECK:         %[[COUNT:.*]] = arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : index
// CHECK:         gpux.copy async %{{.*}}, 1, %[[COUNT]]
// CHECK:         gpux.copy async
// CHECK:         gpux.copy async
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.yield
gpu.module @m {
  gpu.func @masked_tail(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c980 = arith.constant 980 : index
    %c1024 = arith.constant 1024 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %p = memref.alloc() : !Tile
    %q = memref.alloc() : !Tile
    %r = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %from = arith.addi %at, %c980 : index
      %inside = arith.cmpi ult, %from, %c1024 : index
      scf.if %inside {
        %some = memref.load %a[%from] : memref<?xi32>
        memref.store %some, %p[%t] : !Tile
      } else {
        memref.store %zero, %p[%t] : !Tile
      }
      %yielded = scf.if %inside -> i32 {
        %before = arith.subi %from, %c1 : index
        %some = memref.load %a[%before] : memref<?xi32>
        scf.yield %some : i32
      } else {
        scf.yield %zero : i32
      }
      memref.store %yielded, %q[%t] : !Tile
      %some = memref.load %a[%at] : memref<?xi32>
      %chosen = arith.select %inside, %some, %zero : i32
      memref.store %chosen, %r[%t] : !Tile
      gpu.barrier
      %x = memref.load %p[%mirrored] : !Tile
      %y = memref.load %q[%mirrored] : !Tile
      %z = memref.load %r[%mirrored] : !Tile
      %xy = arith.addi %x, %y : i32
      %sum = arith.addi %xy, %z : i32
      memref.store %sum, %c[%at] : memref<?xi32>
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}
