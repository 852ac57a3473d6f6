// A write in one arm of a condition that is always the same leaves nothing to a read in the other arm: iterations have versions of the buffer, and the
// check of what was written accepts that.
//
// RUN: async-opt %s --async-pipeline -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %s --arg 0=64:ramp --arg 1=128:zero --arg 2=3 --arg 3=1 --print | grep '^argument' > %t.before
// RUN: async-sim %t --arg 0=64:ramp --arg 1=128:zero --arg 2=3 --arg 3=1 --print | grep '^argument' | diff %t.before -

!Tile = memref<16xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @writes_in_the_other_arm
  // CHECK:       memref.alloc() {{.*}}: memref<128xi8
  gpu.func @writes_in_the_other_arm(%in: memref<?xf32>, %out: memref<?xf32>, %n: index, %writes: i1) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xf32>
      memref.store %x, %tile[%c2] {async.stage = 0, async.order = 1} : !Tile
      scf.if %writes {
        memref.store %x, %tile[%c3] : !Tile
      } else {
        %v = memref.load %tile[%c3] : !Tile
        %later = arith.addi %i, %c64 : index
        memref.store %v, %out[%later] : memref<?xf32>
      } {async.stage = 0, async.order = 2}
      %w = memref.load %tile[%c2] {async.stage = 1, async.order = 3} : !Tile
      memref.store %w, %out[%i] {async.stage = 1, async.order = 4} : memref<?xf32>
    }
    gpu.return
  }
}
