// A buffer that is accessed by another name: a transposed view is of the same buffer, and what is selected may be.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline -o /dev/null

!tile = memref<4x8xi32, #gpu.address_space<workgroup>>
!transposed = memref<8x4xi32, strided<[1, 8]>, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @transposed(%in: memref<?xi32>, %out: memref<?xi32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tile = memref.alloc() : !tile
    %view = memref.transpose %tile (i, j) -> (j, i) : !tile to !transposed
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
      // expected-note @below {{what comes first}}
      memref.store %x, %tile[%c0, %c0] {async.stage = 1, async.order = 2} : !tile
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %y = memref.load %view[%c0, %c0] {async.stage = 0, async.order = 1} : !transposed
      memref.store %y, %out[%i] {async.stage = 1, async.order = 3} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!tile = memref<32xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @selected(%in: memref<?xi32>, %out: memref<?xi32>, %n: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tile = memref.alloc() : !tile
    %other = memref.alloc() : !tile
    %either = arith.select %p, %tile, %other : !tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
      // expected-note @below {{what comes first}}
      memref.store %x, %tile[%c0] {async.stage = 1, async.order = 2} : !tile
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %y = memref.load %either[%c0] {async.stage = 0, async.order = 1} : !tile
      memref.store %y, %out[%i] {async.stage = 1, async.order = 3} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!tile = memref<32xi32, #gpu.address_space<workgroup>>

// No iteration can have a version of what is read by another name.
gpu.module @m {
  gpu.func @in_order(%in: memref<?xi32>, %out: memref<?xi32>, %n: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{iterations can't have versions of this buffer: others may access it}}
    %tile = memref.alloc() : !tile
    %other = memref.alloc() : !tile
    %either = arith.select %p, %tile, %other : !tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      memref.store %x, %tile[%c0] {async.stage = 0, async.order = 1} : !tile
      // expected-note @below {{what comes first an iteration before}}
      %z = memref.load %tile[%c0] {async.stage = 1, async.order = 2} : !tile
      %y = memref.load %either[%c0] {async.stage = 1, async.order = 3} : !tile
      %sum = arith.addi %y, %z : i32
      memref.store %sum, %out[%i] {async.stage = 1, async.order = 4} : memref<?xi32>
    }
    gpu.return
  }
}
