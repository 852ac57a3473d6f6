// Producers under conditions, as loads and stores: one that is the same in all iterations, with a tile of two parts; one with another
// source in its other arm, which its reader does not ask for; and one that its reader is under, too.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>
!Tiles = memref<2x16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 3 transfers in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @conditional_synchronous_producer
// CHECK:       scf.for
// CHECK:         async.await
// CHECK:         %{{.*}}:2 = scf.if %{{.*}} -> (!async.token, !async.token) {
// CHECK-COUNT-2:   gpux.copy async
// CHECK:         } else {
// CHECK-NEXT:      scf.yield
// CHECK:         %{{.*}}:2 = scf.if %{{.*}} -> (!async.token, !async.token) {
// CHECK:           gpux.copy async
// CHECK:         } else {
// CHECK:           gpux.copy async
// CHECK:         scf.if %{{.*}} -> (!async.token) {
// CHECK:           gpux.copy async
gpu.module @m {
  gpu.func @conditional_synchronous_producer(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %p = memref.alloc() : !Tiles
    %q = memref.alloc() : !Tile
    %r = memref.alloc() : !Tile
    %has_few = arith.cmpi ult, %n, %c5 : index
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %next = arith.addi %at, %c16 : index
      %phase = arith.remui %i, %c3 : index
      %is_second = arith.cmpi eq, %phase, %c1 : index
      scf.if %has_few {
        %first = memref.load %a[%at] : memref<?xi32>
        memref.store %first, %p[%c0, %t] : !Tiles
        %second = memref.load %a[%next] : memref<?xi32>
        memref.store %second, %p[%c1, %t] : !Tiles
      }
      scf.if %is_second {
        %some = memref.load %a[%at] : memref<?xi32>
        memref.store %some, %q[%t] : !Tile
      } else {
        %some = memref.load %a[%next] : memref<?xi32>
        memref.store %some, %q[%t] : !Tile
      }
      scf.if %is_second {
        %some = memref.load %a[%next] : memref<?xi32>
        memref.store %some, %r[%t] : !Tile
      }
      gpu.barrier
      %x = scf.if %has_few -> i32 {
        %some = memref.load %p[%c0, %mirrored] : !Tiles
        %more = memref.load %p[%c1, %mirrored] : !Tiles
        %both = arith.addi %some, %more : i32
        scf.yield %both : i32
      } else {
        scf.yield %zero : i32
      }
      %y = memref.load %q[%mirrored] : !Tile
      %z = scf.if %is_second -> i32 {
        %some = memref.load %r[%mirrored] : !Tile
        scf.yield %some : i32
      } else {
        scf.yield %zero : i32
      }
      %xy = arith.addi %x, %y : i32
      %sum = arith.addi %xy, %z : i32
      memref.store %sum, %c[%at] : memref<?xi32>
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}
