// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-insert-barriers=keep-barriers=true 2>/dev/null | FileCheck %s --check-prefix=KEEP
// RUN: async-opt %s --gpux-insert-barriers=explain=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two barriers where one is enough, and one before anything is accessed.
  //
  // CHECK-LABEL: gpu.func @too_many
  // CHECK-NOT: gpu.barrier
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  //
  // KEEP-LABEL: gpu.func @too_many
  // KEEP-COUNT-3: gpu.barrier
  // KEEP-NOT: gpu.barrier
  // KEEP: gpu.return
  //
  // EXPLAIN: remark: block barriers for workgroup memory: dropped 3 barriers, inserted 1
  // EXPLAIN: remark: a barrier comes before this: without it, the two accesses below are not ordered
  // EXPLAIN: note: 'memref.store' writes what another thread accesses later
  // EXPLAIN: note: 'memref.load' reads it
  gpu.func @too_many(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    gpu.barrier
    %mirrored = arith.subi %c127, %t : index
    memref.store %x, %s[%t] : !row
    gpu.barrier
    gpu.barrier
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    gpu.return
  }

  // The barrier may order what the block does to global memory, and so it stays; it is enough for the rest.
  //
  // EXPLAIN: remark: this barrier stays: it may order the two accesses below, of memory that is not the workgroup's
  // EXPLAIN: note: before it
  // EXPLAIN: note: after it, perhaps by another thread
  //
  // CHECK-LABEL: gpu.func @global
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @global(%g: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    memref.store %x, %s[%t] : !row
    memref.store %x, %g[%t] : memref<128xf32>
    gpu.barrier
    %v = memref.load %g[%mirrored] : memref<128xf32>
    %w = memref.load %s[%mirrored] : !row
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %g[%t] : memref<128xf32>
    gpu.return
  }

  // A barrier beside a fence belongs to it.
  //
  // EXPLAIN: remark: this barrier stays: it belongs to the fence beside it
  //
  // CHECK-LABEL: gpu.func @fence
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  gpu.func @fence() workgroup(%s: !row) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    memref.store %x, %s[%t] : !row
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    gpu.return
  }

  // The size of the matrix is not known, but each thread has elements of its own: no barrier has to order them. Where threads meet
  // in an element, or the rows of the memref may overlap, it stays.
  //
  // CHECK-LABEL: gpu.func @own_columns
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @own_columns(%g: memref<?x?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    scf.for %row = %c0 to %n step %c1 {
      scf.for %column = %t to %n step %c128 {
        memref.store %x, %g[%row, %column] : memref<?x?xf32>
      }
      gpu.barrier
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @elements_of_others
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @elements_of_others(%g: memref<?x?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    scf.for %row = %c0 to %n step %c1 {
      %column = arith.addi %row, %t : index
      memref.store %x, %g[%c0, %column] : memref<?x?xf32>
      gpu.barrier
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @own_elements
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @own_elements(%g: memref<?x?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 32, 4, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %x = arith.constant 1.0 : f32
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    scf.for %row = %ty to %n step %c4 {
      memref.store %x, %g[%row, %tx] : memref<?x?xf32>
      gpu.barrier
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @rows_may_overlap
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @rows_may_overlap(%g: memref<?x?xf32, strided<[?, 1]>>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    scf.for %row = %c0 to %n step %c1 {
      memref.store %x, %g[%row, %t] : memref<?x?xf32, strided<[?, 1]>>
      gpu.barrier
    }
    gpu.return
  }

  // Both rows are written in columns of their own, but what is read is a row and a view of it as something else.
  //
  // CHECK-LABEL: gpu.func @rows_and_bytes
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @rows_and_bytes(%g: memref<?x?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %line = memref.collapse_shape %g [[0, 1]] : memref<?x?xf32> into memref<?xf32>
    memref.store %x, %g[%n, %t] : memref<?x?xf32>
    gpu.barrier
    %y = memref.load %line[%t] : memref<?xf32>
    memref.store %y, %g[%n, %t] : memref<?x?xf32>
    gpu.return
  }
}
