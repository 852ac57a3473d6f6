// RUN: async-opt %s --split-input-file --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

// A copy two iterations before its use. Three tiles are in use at a time: two on their way, one that is read. The slot that the
// copy overwrites has been read by all threads at the one barrier of the loop.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2

// CHECK-LABEL: gpu.func @copy_and_use
// CHECK:         %[[BYTES:.*]] = memref.alloc() {alignment = 16 : i64} : memref<1536xi8, #gpu.address_space<workgroup>>
// The prologue:
// CHECK:         scf.if
// CHECK:           memref.view %[[BYTES]]
// CHECK:           gpux.copy async
// CHECK:         scf.if
// CHECK:           memref.view %[[BYTES]]
// CHECK:           gpux.copy async
// CHECK:         %[[R:.*]]:4 = scf.for {{.*}} iter_args(%[[T1:.*]] = %{{.*}}, %[[T0:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}}, %[[SLOT:.*]] = %{{.*}}) -> (!async.token, !async.token, f32, i32)
// CHECK:           %[[NEXT:.*]] = arith.select
// CHECK-NEXT:      async.await %[[T0]]
// CHECK-NEXT:      gpu.barrier
// CHECK-NOT:       gpu.barrier
// CHECK:           arith.muli %[[SLOT]]
// CHECK:           %[[T2:.*]] = gpux.copy async
// CHECK:           arith.muli %[[NEXT]]
// CHECK:           memref.load
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.yield %[[T2]], %[[T1]], %{{.*}}, %[[NEXT]]
// The epilogue; its awaits are not under conditions, because threads have to meet after them.
// CHECK:         async.await %[[R]]#1
// CHECK:         scf.if
// CHECK:           memref.load
// CHECK:         async.await %[[R]]#0
// CHECK:         scf.if
// CHECK:           memref.load
gpu.module @m {
  gpu.func @copy_and_use(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %tile = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 {async.stage = 0, async.order = 1} : memref<?xf32> to !Tile
      async.await %token {async.stage = 2, async.order = 0}
      gpu.barrier
      %v = memref.load %tile[%mirrored] {async.stage = 2, async.order = 2} : !Tile
      %next = arith.addf %acc, %v {async.stage = 2, async.order = 2} : f32
      gpu.barrier
      scf.yield %next : f32
    }
    memref.store %sum, %out[%t] : memref<?xf32>
    gpu.return
  }
}

// -----

// A value that later stages read stays in registers; what has no side effects and no stage is computed again. Of a known number
// of iterations, nothing is conditional.

// CHECK-LABEL: gpu.func @registers
// CHECK:         memref.load %arg0[%c0
// CHECK:         memref.load %arg0[%c1
// CHECK:         scf.for %[[I:.*]] = %c0{{.*}} iter_args(%[[V1:.*]] = %{{.*}}, %[[V0:.*]] = %{{.*}})
// CHECK-DAG:       %[[V2:.*]] = memref.load %arg0
// CHECK-DAG:       memref.store %[[V0]], %arg1[%[[I]]]
// CHECK:           scf.yield %[[V2]], %[[V1]]
// CHECK:         memref.store {{.*}}, %arg1
// CHECK:         memref.store {{.*}}, %arg1
// CHECK-NOT:     scf.if
gpu.module @m {
  gpu.func @registers(%in: memref<8xf32>, %out: memref<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
      memref.store %v, %out[%i] {async.stage = 2, async.order = 1} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

// With two iterations, no iteration of the kernel is left, and what a third one would do isn't there.

// CHECK-LABEL: gpu.func @shorter_than_the_pipeline
// CHECK-COUNT-2: memref.load
// CHECK-NOT:     memref.load
// CHECK-COUNT-2: memref.store
// CHECK-NOT:     memref.store
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @shorter_than_the_pipeline(%in: memref<8xf32>, %out: memref<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
      memref.store %v, %out[%i] {async.stage = 3, async.order = 1} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

// Attributes of the loop that are not about pipelining stay; so does a comparison without signs.

// CHECK-LABEL: gpu.func @attributes_stay
// CHECK:         scf.for unsigned
// CHECK:         } {some.attribute = 1 : i64}
gpu.module @m {
  gpu.func @attributes_stay(%in: memref<?xf32>, %out: memref<?xf32>, %a: i32, %b: i32, %c: i32) kernel {
    scf.for unsigned %i = %a to %b step %c : i32 {
      %at = arith.index_cast %i : i32 to index
      %v = memref.load %in[%at] {async.stage = 0, async.order = 0} : memref<?xf32>
      memref.store %v, %out[%at] {async.stage = 1, async.order = 1} : memref<?xf32>
    } {some.attribute = 1 : i64}
    gpu.return
  }
}
