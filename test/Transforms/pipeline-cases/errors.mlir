// Schedules that are none, and loops whose memory does not allow one: an error at the statement, and the other one in a note.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @duplicate_order(%a: memref<?xi32>, %c: memref<?xi32>) workgroup(%s: !Tile) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      // expected-note @below {{this one; orders are unique}}
      %x = memref.load %a[%i] {async.stage = 0, async.order = 1} : memref<?xi32>
      // expected-error @below {{has order 1, which an operation of stage 0 has, too}}
      memref.store %x, %s[%c0] {async.stage = 1, async.order = 1} : !Tile
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @consumer_in_an_earlier_stage(%a: memref<?xi32>, %c: memref<?xi32>) workgroup(%s: !Tile) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %a[%i] {async.stage = 1, async.order = 0} : memref<?xi32>
      // expected-note @below {{what comes first; give it an earlier stage or order, or the other one a later one}}
      memref.store %x, %s[%c0] {async.stage = 1, async.order = 0} : !Tile
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %y = memref.load %s[%c0] {async.stage = 0, async.order = 1} : !Tile
      memref.store %y, %c[%i] {async.stage = 0, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @order_not_kept_in_a_stage(%a: memref<?xi32>, %c: memref<?xi32>) workgroup(%s: !Tile) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %a[%i] {async.stage = 0, async.order = 1} : memref<?xi32>
      // expected-note @below {{what comes first; give it an earlier stage or order, or the other one a later one}}
      memref.store %x, %s[%c0] {async.stage = 0, async.order = 1} : !Tile
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %y = memref.load %s[%c0] {async.stage = 0, async.order = 0} : !Tile
      memref.store %y, %c[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// What an iteration reads is from the one before, which has not written it when the schedule reads it.
gpu.module @m {
  gpu.func @read_before_it_is_written(%a: memref<?xi32>, %c: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // expected-note @below {{iterations can't have versions of this buffer: the loop reads it before it writes it}}
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %y = memref.load %s[%c0] {async.stage = 0, async.order = 0} : !Tile
      %x = memref.load %a[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
      %z = arith.addi %x, %y {async.stage = 1, async.order = 1} : i32
      // expected-note @below {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
      memref.store %z, %s[%c0] {async.stage = 1, async.order = 1} : !Tile
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// A tile that is copied only in some iterations is read in others, too.
gpu.module @m {
  gpu.func @skipped_producer_ahead(%a: memref<?xi32>, %c: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // expected-note @below {{iterations can't have versions of this buffer: it keeps what it holds where the condition of a write is false}}
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %fills = arith.cmpi eq, %i, %c0 : index
      %copy = scf.if %fills -> !async.token {
        // expected-note @below {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
        // expected-error @below {{may access the same memory, but the schedule executes this one first}}
        %some = gpux.copy async %a[%i], %s[%c0], 1 : memref<?xi32> to !Tile
        scf.yield %some : !async.token
      } else {
        %none = async.ready
        scf.yield %none : !async.token
      } {async.stage = 0, async.order = 0}
      async.await %copy {async.stage = 1, async.order = 1}
      %x = memref.load %s[%c0] {async.stage = 1, async.order = 1} : !Tile
      memref.store %x, %c[%i] {async.stage = 1, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// A tile that is never copied, because a condition is false in all iterations, still holds what the iteration before has stored.
gpu.module @m {
  gpu.func @left_by_the_iteration_before(%a: memref<?xi32>, %c: memref<?xi32>, %fills: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // expected-note @below {{iterations can't have versions of this buffer: it keeps what it holds where the condition of a write is false}}
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %copy = scf.if %fills -> !async.token {
        // expected-error @below {{may access the same memory, but the schedule executes this one first}}
        %some = gpux.copy async %a[%i], %s[%c0], 1 : memref<?xi32> to !Tile
        scf.yield %some : !async.token
      } else {
        %none = async.ready
        scf.yield %none : !async.token
      } {async.stage = 0, async.order = 0}
      async.await %copy {async.stage = 0, async.order = 0}
      %x = memref.load %s[%c0] {async.stage = 0, async.order = 0} : !Tile
      %y = arith.addi %x, %x {async.stage = 1, async.order = 1} : i32
      // expected-note @below {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
      memref.store %y, %s[%c0] {async.stage = 1, async.order = 1} : !Tile
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// The loop that fills a tile runs in the first iterations alone: what the others read is from those.
gpu.module @m {
  gpu.func @filled_in_the_first_iterations(%a: memref<?xi32>, %c: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    // expected-note @below {{iterations can't have versions of this buffer: it keeps what it holds where a loop around a write does not run}}
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %a[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
      scf.for %j = %i to %c2 step %c1 {
        // expected-error @below {{may access the same memory, but the schedule executes this one first}}
        memref.store %x, %s[%c0] : !Tile
      } {async.stage = 0, async.order = 0}
      // expected-note @below {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
      %y = memref.load %s[%c0] {async.stage = 1, async.order = 1} : !Tile
      memref.store %y, %c[%i] {async.stage = 1, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// Four elements are read and written, but only the first of them has been written before: the others are from the iteration before.
gpu.module @m {
  gpu.func @a_part_is_written_first(%a: memref<?xi32>, %c: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // expected-note @below {{iterations can't have versions of this buffer: the loop writes it after it has read it}}
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %a[%i] {async.stage = 0, async.order = 0} : memref<?xi32>
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      memref.store %x, %s[%c0] {async.stage = 0, async.order = 0} : !Tile
      %y = vector.load %s[%c0] {async.stage = 0, async.order = 0} : !Tile, vector<4xi32>
      vector.store %y, %c[%i] {async.stage = 0, async.order = 0} : memref<?xi32>, vector<4xi32>
      %z = arith.addi %y, %y {async.stage = 1, async.order = 1} : vector<4xi32>
      // expected-note @below {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
      vector.store %z, %s[%c0] {async.stage = 1, async.order = 1} : !Tile, vector<4xi32>
    }
    gpu.return
  }
}

// -----

!Slots = memref<3x16xi32, #gpu.address_space<workgroup>>

// Three slots of the body's own are one too few for three stages between the copy and the read.
gpu.module @m {
  gpu.func @too_few_slots_of_the_body(%a: memref<?xi32>, %c: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    // expected-note @below {{iterations can't have versions of this buffer: where it is written depends on the iteration}}
    %s = memref.alloc() : !Slots
    scf.for %i = %c0 to %c8 step %c1 {
      %slot = arith.remui %i, %c3 : index
      // expected-note @below {{what comes first 3 iterations before; give it an earlier stage or order, or the other one a later one}}
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %copy = gpux.copy async %a[%i], %s[%slot, %c0], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Slots
      async.await %copy {async.stage = 3, async.order = 1}
      %x = memref.load %s[%slot, %c0] {async.stage = 3, async.order = 1} : !Slots
      memref.store %x, %c[%i] {async.stage = 3, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}

// -----

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

// The buffer is read after the loop, which may have left something in it; that it is written before the loop does not help.
gpu.module @m {
  gpu.func @read_after_the_loop(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0 : i32
    // expected-note @below {{iterations can't have versions of this buffer: it is read after the loop}}
    %s = memref.alloc() : memref<1xi32, #gpu.address_space<workgroup>>
    scf.for %round = %c0 to %c8 step %c1 {
      memref.store %zero, %s[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      scf.for %i = %c0 to %n step %c1 {
        // expected-note @below {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
        // expected-error @below {{may access the same memory, but the schedule executes this one first}}
        %copy = gpux.copy async %a[%i], %s[%c0], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to memref<1xi32, #gpu.address_space<workgroup>>
        async.await %copy {async.stage = 1, async.order = 1}
        %x = memref.load %s[%c0] {async.stage = 1, async.order = 1} : memref<1xi32, #gpu.address_space<workgroup>>
        memref.store %x, %c[%i] {async.stage = 1, async.order = 1} : memref<?xi32>
      }
      %last = memref.load %s[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      memref.store %last, %c[%round] : memref<?xi32>
    }
    gpu.return
  }
}
