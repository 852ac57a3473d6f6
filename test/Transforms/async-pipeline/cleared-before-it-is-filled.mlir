// A tile that is copied in all iterations or in none, and written again after it was read, has versions, because each iteration clears it
// first: nothing is left for the next one to read.
//
// RUN: async-opt %s --async-pipeline -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %s --arg 0=64:ramp --arg 1=128:zero --arg 2=3 --arg 3=0 --print | grep '^argument' > %t.before
// RUN: async-sim %t --arg 0=64:ramp --arg 1=128:zero --arg 2=3 --arg 3=0 --print | grep '^argument' | diff %t.before -

!Tile = memref<16xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @cleared_before_it_is_filled
// CHECK:       memref.alloc() {{.*}}: memref<128xi8
gpu.module @m {
  gpu.func @cleared_before_it_is_filled(%a: memref<?xf32>, %c: memref<?xf32>, %n: index, %fills: i1) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %later = arith.addi %at, %c64 : index
      memref.store %zero, %s[%t] {async.stage = 0, async.order = 0} : !Tile
      %copy = scf.if %fills -> !async.token {
        %some = gpux.copy async %a[%at], %s[%t], 1 : memref<?xf32> to !Tile
        scf.yield %some : !async.token
      } else {
        %none = async.ready
        scf.yield %none : !async.token
      } {async.stage = 0, async.order = 1}
      async.await %copy {async.stage = 0, async.order = 2}
      %x = memref.load %s[%t] {async.stage = 0, async.order = 3} : !Tile
      memref.store %x, %c[%at] {async.stage = 0, async.order = 4} : memref<?xf32>
      %again = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 1, async.order = 5} : memref<?xf32> to !Tile
      async.await %again {async.stage = 1, async.order = 6}
      %y = memref.load %s[%t] {async.stage = 1, async.order = 7} : !Tile
      memref.store %y, %c[%later] {async.stage = 1, async.order = 8} : memref<?xf32>
    }
    gpu.return
  }
}
