// RUN: async-opt %s --split-input-file --async-pipeline | FileCheck %s

// A load and a store become an asynchronous copy, as --async-to-gpux makes them; with `async.num_stages`, wherever that is possible.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @automatic
// CHECK:         scf.for
// CHECK:           async.await
// CHECK-NEXT:      gpu.barrier
// CHECK:           gpux.copy async
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.yield
gpu.module @m {
  gpu.func @automatic(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %new = memref.load %in[%from] : memref<?xf32>
      memref.store %new, %tile[%t] : !Tile
      gpu.barrier
      %v = memref.load %tile[%mirrored] : !Tile
      memref.store %v, %out[%from] : memref<?xf32>
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

// With stages, those of `async.async_stages` alone. The copy is awaited in the first statement that reads what it writes: the one
// of stage 1, although the one of stage 2 is written first.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @annotated
// CHECK:         scf.for
// CHECK:           gpux.copy async
// CHECK:           memref.store %{{.*}}, %arg1
// CHECK:           async.await
// CHECK:           memref.store %{{.*}}, %arg2
// CHECK:           scf.yield
gpu.module @m {
  gpu.func @annotated(%in: memref<?xf32>, %late: memref<?xf32>, %early: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %new = memref.load %in[%from] {async.stage = 0, async.order = 0} : memref<?xf32>
      memref.store %new, %tile[%t] {async.stage = 0, async.order = 0} : !Tile
      %v = memref.load %tile[%t] {async.stage = 2, async.order = 1} : !Tile
      memref.store %v, %late[%from] {async.stage = 2, async.order = 1} : memref<?xf32>
      %w = memref.load %tile[%t] {async.stage = 1, async.order = 2} : !Tile
      memref.store %w, %early[%from] {async.stage = 1, async.order = 2} : memref<?xf32>
    } {async.async_stages = [0]}
    gpu.return
  }
}

// -----

// Without `async.async_stages`, the store stays synchronous: the load is what is early.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @synchronous
// CHECK-NOT:     gpux.copy
// CHECK:         scf.for %{{.*}} iter_args(%[[V:.*]] = %{{.*}}) -> (f32)
// CHECK:           memref.store %[[V]], %alloc
// CHECK:           %[[NEXT:.*]] = memref.load %arg0
// CHECK:           scf.yield %[[NEXT]]
gpu.module @m {
  gpu.func @synchronous(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %new = memref.load %in[%i] {async.stage = 0, async.order = 1} : memref<?xf32>
      memref.store %new, %tile[%t] {async.stage = 1, async.order = 0} : !Tile
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 0} : !Tile
      memref.store %v, %out[%i] {async.stage = 1, async.order = 0} : memref<?xf32>
    }
    gpu.return
  }
}
