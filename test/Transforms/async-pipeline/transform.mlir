// RUN: async-opt %s --split-input-file --transform-interpreter 2>/dev/null | FileCheck %s

// The loop of the handle is pipelined as the script says; the other one stays as it is, although it asks for stages, too. The handle
// that results points to the kernel.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @one_of_two
// CHECK:         scf.for
// CHECK:           async.await
// CHECK-NEXT:      gpu.barrier
// CHECK:           gpux.copy async
// CHECK-NOT:       async.await
// CHECK:         } {chosen, kernel}
// CHECK:         scf.for
// CHECK-NOT:       async.await
// CHECK-NOT:     kernel
// CHECK:         } {async.num_stages = 2 : i32}
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @one_of_two(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
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
      } {chosen}
      scf.for %i = %c0 to %n step %c1 {
        %first = arith.muli %i, %c128 : index
        %from = arith.addi %first, %t : index
        %new = memref.load %in[%from] : memref<?xf32>
        memref.store %new, %tile[%t] : !Tile
        %v = memref.load %tile[%t] : !Tile
        memref.store %v, %out[%from] : memref<?xf32>
      } {async.num_stages = 2 : i32}
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} attributes {chosen} in %root : (!transform.any_op) -> !transform.any_op
    %kernel = transform.async.pipeline %loop {num_stages = 3} : (!transform.any_op) -> !transform.any_op
    transform.annotate %kernel "kernel" : !transform.any_op
    transform.yield
  }
}

// -----

// Without stages of its own, the operation goes by what the loops say. Options are those of the pass.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @options
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK:           scf.if
// CHECK:             gpux.copy async
// CHECK:         } {kernel}
// CHECK-NOT:     gpux.copy
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @options(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
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
        %token = gpux.copy async %in[%from], %tile[%t], 1 {async.stage = 0, async.order = 1} : memref<?xf32> to !Tile
        async.await %token {async.stage = 1, async.order = 0}
        %v = memref.load %tile[%mirrored] {async.stage = 1, async.order = 2} : !Tile
        memref.store %v, %out[%from] {async.stage = 1, async.order = 2} : memref<?xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    %kernel = transform.async.pipeline %loop {epilogue = "predicate", short_trips = "guard", insert_barriers = true}
        : (!transform.any_op) -> !transform.any_op
    transform.annotate %kernel "kernel" : !transform.any_op
    transform.yield
  }
}

// -----

// On sm_90, with the tensor memory accelerator: one load for all threads. Different arguments are different buffers, so the kernel writes
// nothing that it copies.

!Tile = memref<16x64xf32, #gpu.address_space<workgroup>>
!Rows = memref<16x64xf32, strided<[64, 1], offset: ?>>

// CHECK-LABEL: gpu.func @engine
// CHECK:         scf.for
// CHECK:           gpux.bulk_load async
// CHECK-NOT:     gpux.copy
// CHECK:         gpu.return
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @engine(%in: memref<?x64xf32>, %out: memref<?x64xf32>, %n: index) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %t = gpu.thread_id x
      %tile = memref.alloc() : !Tile
      scf.for %k = %c0 to %n step %c16 {
        %rows = memref.subview %in[%k, 0] [16, 64] [1, 1] : memref<?x64xf32> to !Rows
        memref.copy %rows, %tile : !Rows to !Tile
        gpu.barrier
        %v = memref.load %tile[%c0, %t] : !Tile
        memref.store %v, %out[%k, %t] : memref<?x64xf32>
        gpu.barrier
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2, chip = "sm_90", engine = "tma"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Other handles lose what is erased, here the barrier, and keep the rest: the buffer is bytes with two versions now.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @other_handles
// CHECK:         memref.alloc() {alignment = 16 : i64, left = 2 : i64} : memref<1024xi8
// CHECK:         gpu.thread_id x {left = 2 : i64}
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @other_handles(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %tile = memref.alloc() : !Tile
      %t = gpu.thread_id x
      scf.for %i = %c0 to %n step %c1 {
        %new = memref.load %in[%i] : memref<?xf32>
        memref.store %new, %tile[%t] : !Tile
        %v = memref.load %tile[%t] : !Tile
        memref.store %v, %out[%i] : memref<?xf32>
      }
      gpu.barrier
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    %other = transform.structured.match ops{["memref.alloc", "gpu.barrier", "gpu.thread_id"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2} : (!transform.any_op) -> !transform.any_op
    %left = transform.num_associations %other : (!transform.any_op) -> !transform.param<i64>
    transform.annotate %other "left" = %left : !transform.any_op, !transform.param<i64>
    transform.yield
  }
}

// -----

// Buffers that each iteration allocates for itself, as upstream's transforms make them, move out of the loop first: in static
// workgroup memory they are the same one each time.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @allocated_in_the_loop
// CHECK:         memref.alloc() {alignment = 16 : i64} : memref<1024xi8
// CHECK:         scf.for
// CHECK-NOT:       memref.alloc
// CHECK:           gpux.copy async
// CHECK-NOT:     memref.dealloc
// CHECK:         gpu.return
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @allocated_in_the_loop(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = gpu.thread_id x
      scf.for %i = %c0 to %n step %c1 {
        %bytes = memref.alloc() : memref<512xi8, #gpu.address_space<workgroup>>
        %tile = memref.view %bytes[%c0][] : memref<512xi8, #gpu.address_space<workgroup>> to !Tile
        %new = memref.load %in[%i] : memref<?xf32>
        memref.store %new, %tile[%t] : !Tile
        %v = memref.load %tile[%t] : !Tile
        memref.store %v, %out[%i] : memref<?xf32>
        memref.dealloc %bytes : memref<512xi8, #gpu.address_space<workgroup>>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Two transfers that are awaited at one place: one await.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @awaited_together
// CHECK:         scf.for
// CHECK:           async.await %arg{{[0-9]+}}, %arg{{[0-9]+}}
// CHECK-NEXT:      gpu.barrier
// CHECK:           gpux.copy async
// CHECK:           gpux.copy async
// CHECK-NOT:       async.await
// CHECK:           scf.yield
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @awaited_together(%a: memref<?xf32>, %b: memref<?xf32>, %out: memref<?x128xf32>, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c127 = arith.constant 127 : index
      %t = gpu.thread_id x
      %mirrored = arith.subi %c127, %t : index
      %left = memref.alloc() : !Tile
      %right = memref.alloc() : !Tile
      scf.for %i = %c0 to %n step %c1 {
        %x = memref.load %a[%i] : memref<?xf32>
        memref.store %x, %left[%t] : !Tile
        gpu.barrier
        %y = memref.load %b[%i] : memref<?xf32>
        memref.store %y, %right[%t] : !Tile
        gpu.barrier
        %v = memref.load %left[%mirrored] : !Tile
        %w = memref.load %right[%mirrored] : !Tile
        %sum = arith.addf %v, %w : f32
        memref.store %sum, %out[%i, %t] : memref<?x128xf32>
        gpu.barrier
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
