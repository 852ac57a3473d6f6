// A loop inside of a pipelined loop writes a buffer and reads it. Iterations may have versions of the buffer only where a read finds what was
// written before it: in the same iteration of the loop inside, before that, or the same in each.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline | FileCheck %s

!tile = memref<32xf32, #gpu.address_space<workgroup>>

// Element 3 is read before the last iteration of the loop inside writes it.
gpu.module @m {
  gpu.func @reads_what_is_written_later(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    // expected-note @below {{iterations can't have versions of this buffer: a loop inside reads it, and may only write that in a later iteration}}
    %tile = memref.alloc() : !tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xf32>
      scf.for %j = %c0 to %c4 step %c1 {
        // expected-error @below {{may access the same memory, but the schedule executes this one first}}
        memref.store %x, %tile[%j] : !tile
        %v = memref.load %tile[%c3] : !tile
        %at = arith.addi %i, %j : index
        memref.store %v, %out[%at] : memref<?xf32>
      } {async.stage = 0, async.order = 1}
      // expected-note @below {{what comes first an iteration before}}
      %w = memref.load %tile[%c2] {async.stage = 1, async.order = 2} : !tile
      memref.store %w, %out[%i] {async.stage = 1, async.order = 3} : memref<?xf32>
    }
    gpu.return
  }
}

// -----

!tile = memref<32xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @reads_what_it_has_written
// CHECK: memref.alloc() {{.*}} : memref<{{[0-9]+}}xi8, #gpu.address_space<workgroup>>
// CHECK: memref.view
gpu.module @m {
  // expected-remark @below {{block barriers for workgroup memory}}
  gpu.func @reads_what_it_has_written(%in: memref<?xf32>, %out: memref<?xf32>, %sums: memref<?xf32>, %n: index, %trips: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %tile = memref.alloc() : !tile
    // expected-remark @below {{pipelined: 1 transfer in stage 0, the rest in stages 0 and 1}}
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xf32>
      // All iterations of the loop inside may read this.
      memref.store %x, %tile[%c3] {async.stage = 0, async.order = 1} : !tile
      scf.for %j = %c0 to %trips step %c1 {
        memref.store %x, %tile[%j] : !tile
        %v = memref.load %tile[%j] : !tile
        %before = memref.load %tile[%c3] : !tile
        %sum = arith.addf %v, %before : f32
        memref.store %sum, %sums[%j] : memref<?xf32>
      } {async.stage = 0, async.order = 2}
      %w = memref.load %tile[%c3] {async.stage = 1, async.order = 3} : !tile
      memref.store %w, %out[%i] {async.stage = 1, async.order = 4} : memref<?xf32>
    }
    gpu.return
  }
}

// -----

!tile = memref<32xf32, #gpu.address_space<workgroup>>

// Whether the loop around the store runs depends on the iteration of the one around both.
gpu.module @m {
  gpu.func @writes_from_the_second_iteration_on(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    // expected-note @below {{iterations can't have versions of this buffer: a loop inside reads it, and may only write that in a later iteration}}
    %tile = memref.alloc() : !tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xf32>
      scf.for %j = %c0 to %c4 step %c1 {
        scf.for %k = %c0 to %j step %c1 {
          // expected-error @below {{may access the same memory, but the schedule executes this one first}}
          memref.store %x, %tile[%c0] : !tile
        }
        %v = memref.load %tile[%c0] : !tile
        memref.store %v, %out[%j] : memref<?xf32>
      } {async.stage = 0, async.order = 1}
      // expected-note @below {{what comes first an iteration before}}
      %w = memref.load %tile[%c0] {async.stage = 1, async.order = 2} : !tile
      memref.store %w, %out[%i] {async.stage = 1, async.order = 3} : memref<?xf32>
    }
    gpu.return
  }
}

// -----

!tile = memref<32xf32, #gpu.address_space<workgroup>>

// The first iteration does not run the loop around the store, and what is read after that is what was there before.
gpu.module @m {
  gpu.func @reads_after_a_loop_that_may_not_run(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{iterations can't have versions of this buffer: it keeps what it holds where a loop around a write does not run}}
    %tile = memref.alloc() : !tile
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<?xf32>
      scf.for %k = %c0 to %i step %c1 {
        // expected-error @below {{may access the same memory, but the schedule executes this one first}}
        memref.store %x, %tile[%c0] : !tile
      } {async.stage = 0, async.order = 1}
      // expected-note @below {{what comes first an iteration before}}
      %w = memref.load %tile[%c0] {async.stage = 1, async.order = 2} : !tile
      memref.store %w, %out[%i] {async.stage = 1, async.order = 3} : memref<?xf32>
    }
    gpu.return
  }
}
