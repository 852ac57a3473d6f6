// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline | FileCheck %s

// An induction variable of a narrow type counts as one of `index` does, as long as it stays in its type.

!In = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // Each iteration stores to an element of its own, whatever the bound is: the variable is at most that.
  // CHECK-LABEL: gpu.func @in_steps_of_one
  // CHECK:         scf.for
  // CHECK:           memref.store %{{.*}}, %arg1
  // CHECK:           memref.store %{{.*}}, %arg1
  gpu.func @in_steps_of_one(%in: !In, %out: !In, %n: i8) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i8
    %c1 = arith.constant 1 : i8
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    %zero = arith.constant 0.0 : f32
    // expected-remark@+1 {{pipelined: 1 transfer in stage 0, the rest in stages 0 and 1}}
    scf.for %iv = %c0 to %n step %c1 : i8 {
      %i = arith.index_cast %iv : i8 to index
      memref.store %zero, %out[%i] {async.stage = 0, async.order = 0} : !In
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 1} : !In to !Tile
      async.await %token {async.stage = 1, async.order = 2}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 3} : !Tile
      memref.store %v, %out[%i] {async.stage = 1, async.order = 4} : !In
    }
    gpu.return
  }

  // The loop ends at 122.
  // CHECK-LABEL: gpu.func @up_to_a_constant
  // CHECK:         scf.for
  // CHECK:           memref.store %{{.*}}, %arg1
  // CHECK:           memref.store %{{.*}}, %arg1
  gpu.func @up_to_a_constant(%in: !In, %out: !In) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i8
    %c2 = arith.constant 2 : i8
    %c121 = arith.constant 121 : i8
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    %zero = arith.constant 0.0 : f32
    // expected-remark@+1 {{pipelined: 1 transfer in stage 0, the rest in stages 0 and 1}}
    scf.for %iv = %c0 to %c121 step %c2 : i8 {
      %i = arith.index_cast %iv : i8 to index
      memref.store %zero, %out[%i] {async.stage = 0, async.order = 0} : !In
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 1} : !In to !Tile
      async.await %token {async.stage = 1, async.order = 2}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 3} : !Tile
      memref.store %v, %out[%i] {async.stage = 1, async.order = 4} : !In
    }
    gpu.return
  }
}

// -----

// Without a sign, 128 is the number that reads as -128: two iterations may have one element, for all that is known.

!In = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // expected-note@+1 {{iterations can't have versions of this buffer: others may access it}}
  gpu.func @without_a_sign(%in: !In, %out: !In, %n: i8) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i8
    %c1 = arith.constant 1 : i8
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    %zero = arith.constant 0.0 : f32
    scf.for unsigned %iv = %c0 to %n step %c1 : i8 {
      %i = arith.index_castui %iv : i8 to index
      // expected-error@+1 {{may access the same memory, but the schedule executes this one first}}
      memref.store %zero, %out[%i] {async.stage = 0, async.order = 0} : !In
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 1} : !In to !Tile
      async.await %token {async.stage = 1, async.order = 2}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 3} : !Tile
      // expected-note@+1 {{what comes first an iteration before; give it an earlier stage or order, or the other one a later one}}
      memref.store %v, %out[%i] {async.stage = 1, async.order = 4} : !In
    }
    gpu.return
  }
}
