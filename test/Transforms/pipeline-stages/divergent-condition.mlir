// After the first tile, one thread in three writes, and reads what another one may have written tiles ago. Versions of the buffer would
// show it another of these. In the second loop, each thread reads what it has written itself.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined
// SAID: note: iterations can't have versions of this buffer: it keeps what it holds where the condition of a write is false
// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @divergent_condition
// CHECK:       memref.alloc() : memref<16xi32
// CHECK:       memref.alloc() {{.*}}: memref<192xi8
gpu.module @m {
  gpu.func @divergent_condition(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %r = memref.alloc() : !Tile
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %phase = arith.remui %at, %c3 : index
      %is_first = arith.cmpi eq, %i, %c0 : index
      %is_turn = arith.cmpi eq, %phase, %c1 : index
      %writes = arith.ori %is_first, %is_turn : i1
      scf.if %writes {
        %some = memref.load %a[%at] : memref<?xi32>
        memref.store %some, %r[%t] : !Tile
      }
      gpu.barrier
      %x = scf.if %writes -> i32 {
        %some = memref.load %r[%mirrored] : !Tile
        scf.yield %some : i32
      } else {
        scf.yield %zero : i32
      }
      memref.store %x, %c[%at] : memref<?xi32>
      gpu.barrier
    } {async.num_stages = 3}
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %phase = arith.remui %at, %c3 : index
      %writes = arith.cmpi eq, %phase, %c1 : index
      scf.if %writes {
        %some = memref.load %a[%at] : memref<?xi32>
        memref.store %some, %s[%t] : !Tile
      }
      scf.if %writes {
        %some = memref.load %s[%t] : !Tile
        memref.store %some, %c[%at] : memref<?xi32>
      }
    } {async.num_stages = 3}
    gpu.return
  }
}
