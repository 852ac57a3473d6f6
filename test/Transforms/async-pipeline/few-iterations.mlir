// RUN: async-opt %s --async-pipeline 2>/dev/null | FileCheck %s
// RUN: async-opt %s --async-pipeline=epilogue=predicate 2>/dev/null | FileCheck %s --check-prefix=PREDICATE
// RUN: async-opt %s --async-pipeline=short-trips=branch 2>/dev/null | FileCheck %s --check-prefix=BRANCH
// RUN: async-opt %s --async-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// What a loop with few iterations does not need.

!In = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // The schedule would take four versions, but there are two iterations.
  // CHECK-LABEL: gpu.func @two_iterations
  // CHECK:         memref.alloc() {alignment = 16 : i64} : memref<1024xi8,
  gpu.func @two_iterations(%in: !In, %out: !In) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %c2 step %c1 {
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      async.await %token {async.stage = 3, async.order = 1}
      %v = memref.load %tile[%t] {async.stage = 3, async.order = 2} : !Tile
      memref.store %v, %out[%i] {async.stage = 3, async.order = 2} : !In
    }
    gpu.return
  }

  // The prologue has done all of the first stage.
  // CHECK-LABEL: gpu.func @one_iteration
  // PREDICATE-LABEL: gpu.func @one_iteration
  // PREDICATE:         gpux.copy async
  // PREDICATE:         scf.for
  // PREDICATE-NOT:       scf.if
  // PREDICATE-NOT:       gpux.copy
  // PREDICATE:         gpu.return
  gpu.func @one_iteration(%in: !In, %out: !In) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %c1 step %c1 {
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      async.await %token {async.stage = 1, async.order = 1}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 2} : !Tile
      memref.store %v, %out[%i] {async.stage = 1, async.order = 2} : !In
    }
    gpu.return
  }

  // No second iteration comes before the rest of the first one.
  // CHECK-LABEL: gpu.func @one_iteration_to_the_same_element
  // CHECK:         gpux.copy async
  // CHECK:         memref.store %{{.*}}, %arg1[%c0]
  // CHECK-NEXT:    gpu.barrier
  // CHECK:         %[[V:.*]] = memref.load
  // CHECK:         memref.store %[[V]], %arg1[%c0]
  gpu.func @one_iteration_to_the_same_element(%in: !In, %out: !In) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %c1 step %c1 {
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      memref.store %zero, %out[%c0] {async.stage = 0, async.order = 1} : !In
      gpu.barrier {async.stage = 0, async.order = 2}
      async.await %token {async.stage = 1, async.order = 3}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 4} : !Tile
      memref.store %v, %out[%c0] {async.stage = 1, async.order = 4} : !In
    }
    gpu.return
  }

  // Without one iteration, there is nothing to do: the loop is not there twice.
  // BRANCH-LABEL: gpu.func @some_or_none
  // BRANCH:         %[[ZERO:.*]] = arith.constant 0.0
  // BRANCH:         scf.if
  // BRANCH:           scf.for
  // BRANCH:         } else {
  // BRANCH-NEXT:      scf.yield %[[ZERO]] : f32
  // BRANCH-NEXT:    }
  gpu.func @some_or_none(%in: !In, %out: !In, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      async.await %token {async.stage = 1, async.order = 1}
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 2} : !Tile
      %next = arith.addf %s, %v : f32
      scf.yield %next : f32
    }
    memref.store %sum, %out[%t] : !In
    gpu.return
  }

  // --gpux-groups-to-tokens has no use for the waits of a loop that never runs.
  // REMARK: remark: is not pipelined: it never runs
  // CHECK-LABEL: gpu.func @never
  // CHECK:         gpux.copy async
  // CHECK-NOT:     async.stage
  // CHECK:         gpu.return
  gpu.func @never(%in: !In) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %c0 step %c1 {
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 1} : !Tile
    }
    gpu.return
  }
}
