// What the pass writes is checked, and is the same without the check: prologue, kernel and epilogue, few iterations, predicated rounds, slots
// that are computed, and loops whose bounds and steps are not known.
//
// RUN: async-opt %s --async-pipeline -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --async-pipeline=verify-result=false -o %t.unchecked
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --async-pipeline="epilogue=predicate" -o %t
// RUN: async-opt %s --async-pipeline="epilogue=predicate verify-result=false" -o %t.unchecked
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --async-pipeline="short-trips=branch computed-slots" -o %t
// RUN: async-opt %s --async-pipeline="short-trips=branch computed-slots verify-result=false" -o %t.unchecked
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --async-pipeline="short-trips=branch epilogue=predicate" -o %t
// RUN: async-opt %s --async-pipeline="short-trips=branch epilogue=predicate verify-result=false" -o %t.unchecked
// RUN: diff %t %t.unchecked

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Values are handed on from iteration to iteration, and change places: what comes out is known for every number of iterations.
  // CHECK-LABEL: gpu.func @bounds_of_the_caller
  // CHECK: scf.for
  gpu.func @bounds_of_the_caller(%in: memref<?xf32>, %out: memref<?xf32>, %lower: i32, %upper: i32, %step: i32, %x: f32, %y: f32)
      workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %r:4 = scf.for unsigned %i = %lower to %upper step %step iter_args(%acc = %zero, %a = %x, %b = %y, %last = %lower)
        -> (f32, f32, f32, i32) : i32 {
      %k = arith.index_castui %i : i32 to index
      %first = arith.muli %k, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      async.await %token
      gpu.barrier
      %v = memref.load %tile[%mirrored] : !Tile
      %product = arith.mulf %v, %a : f32
      %next = arith.addf %acc, %product : f32
      gpu.barrier
      scf.yield %next, %b, %a, %i : f32, f32, f32, i32
    } {async.num_stages = 3}
    memref.store %r#0, %out[%t] : memref<?xf32>
    memref.store %r#1, %out[%mirrored] : memref<?xf32>
    %at = arith.index_castui %r#3 : i32 to index
    memref.store %r#2, %out[%at] : memref<?xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @number_of_the_caller
  // CHECK: scf.for
  gpu.func @number_of_the_caller(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) workgroup(%tile: !Tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      async.await %token
      gpu.barrier
      %v = memref.load %tile[%mirrored] : !Tile
      %next = arith.addf %acc, %v : f32
      // Each iteration reads what the one before has stored: not out of order.
      %old = memref.load %out[%t] : memref<?xf32>
      %new = arith.addf %old, %next : f32
      memref.store %new, %out[%t] : memref<?xf32>
      gpu.barrier
      scf.yield %next : f32
    } {async.num_stages = 4}
    memref.store %sum, %out[%t] : memref<?xf32>
    gpu.return
  }

  // The difference of the bounds is 100 in eight bits, and -156 in more.
  // CHECK-LABEL: gpu.func @unsigned_bounds_of_few_bits
  // CHECK: scf.for
  gpu.func @unsigned_bounds_of_few_bits(%in: memref<?xf32>, %out: memref<?xf32>, %step: i8) workgroup(%tile: !Tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %lower = arith.constant 100 : i8
    %upper = arith.constant 200 : i8
    %t = gpu.thread_id x
    scf.for unsigned %i = %lower to %upper step %step : i8 {
      %k = arith.index_castui %i : i8 to index
      %from = arith.addi %k, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      async.await %token
      %v = memref.load %tile[%t] : !Tile
      memref.store %v, %out[%from] : memref<?xf32>
    } {async.num_stages = 3}
    gpu.return
  }

  // There are at most four iterations: the last stage is not reached before the end.
  // CHECK-LABEL: gpu.func @fewer_iterations_than_stages
  gpu.func @fewer_iterations_than_stages(%in: memref<?xf32>, %out: memref<?xf32>, %n: i8) workgroup(%tile: !Tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %lower = arith.constant 0 : i8
    %step = arith.constant 64 : i8
    %t = gpu.thread_id x
    scf.for %i = %lower to %n step %step : i8 {
      %k = arith.index_castui %i : i8 to index
      %from = arith.addi %k, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      async.await %token
      %v = memref.load %tile[%t] : !Tile
      memref.store %v, %out[%from] : memref<?xf32>
    } {async.num_stages = 5}
    gpu.return
  }
}
