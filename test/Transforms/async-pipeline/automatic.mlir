// RUN: async-opt %s --split-input-file --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

// Copies go first, as early as their addresses allow; the await that begins an iteration comes first in a round, so that one
// barrier is enough.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 2 transfers in stage 0, the rest in stage 2

// CHECK-LABEL: gpu.func @two_tiles
// CHECK:         scf.for
// CHECK:           async.await
// CHECK-NEXT:      gpu.barrier
// CHECK:           gpux.copy async
// CHECK:           gpux.copy async
// CHECK:           memref.load
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.yield
gpu.module @m {
  gpu.func @two_tiles(%a: memref<?xf32>, %b: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %x = memref.alloc() : !Tile
    %y = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %t0 = gpux.copy async %a[%from], %x[%t], 1 : memref<?xf32> to !Tile
      %t1 = gpux.copy async %b[%from], %y[%t], 1 : memref<?xf32> to !Tile
      async.await %t0, %t1
      gpu.barrier
      %v = memref.load %x[%mirrored] : !Tile
      %w = memref.load %y[%mirrored] : !Tile
      %product = arith.mulf %v, %w : f32
      %next = arith.addf %acc, %product : f32
      gpu.barrier
      scf.yield %next : f32
    } {async.num_stages = 3}
    memref.store %sum, %out[%t] : memref<?xf32>
    gpu.return
  }
}

// -----

// A gather: the load that says where to copy from has a stage of its own, before that of the copy.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 1, the rest in stages 0 and 3

// CHECK-LABEL: gpu.func @gather
// CHECK:         scf.for %{{.*}} iter_args(%[[AT:.*]] = %{{.*}}, %[[T2:.*]] = %{{.*}}, %[[T1:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (index, !async.token, !async.token, f32, i32)
// CHECK:           async.await %[[T1]]
// CHECK:           %[[FROM:.*]] = arith.addi %[[AT]]
// CHECK:           %[[T3:.*]] = gpux.copy async %arg0[%[[FROM]]]
// CHECK:           %[[NEXT:.*]] = memref.load %arg1
// CHECK:           scf.yield %[[NEXT]], %[[T3]], %[[T2]]
gpu.module @m {
  gpu.func @gather(%in: memref<?xf32>, %places: memref<?xindex>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %tile = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = memref.load %places[%i] : memref<?xindex>
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      async.await %token
      gpu.barrier
      %v = memref.load %tile[%mirrored] : !Tile
      %next = arith.addf %acc, %v : f32
      gpu.barrier
      scf.yield %next : f32
    } {async.num_stages = 4}
    memref.store %sum, %out[%t] : memref<?xf32>
    gpu.return
  }
}

// -----

// Without copies, loads into registers go first.

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 1

// CHECK-LABEL: gpu.func @registers
// CHECK:         scf.for %{{.*}} iter_args(%[[V0:.*]] = %{{.*}}) -> (f32)
// CHECK:           %[[V1:.*]] = memref.load %arg0
// CHECK:           %[[TWICE:.*]] = arith.addf %[[V0]], %[[V0]]
// CHECK:           memref.store %[[TWICE]], %arg1
// CHECK:           scf.yield %[[V1]]
gpu.module @m {
  gpu.func @registers(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %in[%i] : memref<?xf32>
      %twice = arith.addf %v, %v : f32
      memref.store %twice, %out[%i] : memref<?xf32>
    } {async.num_stages = 2}
    gpu.return
  }
}

// -----

// A copy goes where an earlier iteration has said: nothing to be started early. The barriers stay.

!Tile = memref<128xi32, #gpu.address_space<workgroup>>

// SAID: remark: is not pipelined
// SAID: note: {{.*}}needs what is defined in stage
// SAID: remark: is not pipelined
// SAID: note: 'scf.for' op has one stage, which leaves nothing to overlap

// CHECK-LABEL: gpu.func @left_alone
// CHECK:         scf.for %{{.*}} iter_args
// CHECK-NEXT:      gpux.copy async
// CHECK-NEXT:      async.await
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      arith.index_cast
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    }
// CHECK:         scf.for
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
gpu.module @m {
  gpu.func @left_alone(%in: memref<?xi32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 iter_args(%from = %t) -> (index) {
      %token = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xi32> to !Tile
      async.await %token
      gpu.barrier
      %v = memref.load %tile[%i] : !Tile
      %next = arith.index_cast %v : i32 to index
      gpu.barrier
      scf.yield %next : index
    } {async.num_stages = 3}
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %in[%i] : memref<?xi32>
      memref.store %v, %tile[%t] : !Tile
    } {async.num_stages = 1}
    gpu.return
  }
}
