// RUN: async-opt %s --gpux-pack-workgroup-memory --gpux-insert-barriers | FileCheck %s
// RUN: not async-opt %s --gpux-pack-workgroup-memory="share=free" 2>&1 | FileCheck %s --check-prefix=FREE

// Buffers that are allocated in each iteration: the next one has the same bytes. That takes barriers, which the pass that runs
// afterwards inserts.

// FREE: error: 'memref.alloc' op allocates workgroup memory in each iteration, and other threads may still use that of the previous iteration

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @in_each_iteration
  // CHECK: memref.get_global {{.*}} : memref<256xi8
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.yield
  gpu.func @in_each_iteration(%n: index, %x: f32, %out: memref<64xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> f32 {
      %a = memref.alloc() : !row
      memref.store %acc, %a[%t] : !row
      %v = memref.load %a[%mirrored] : !row
      %b = memref.alloc() : !row
      memref.store %v, %b[%t] : !row
      %w = memref.load %b[%mirrored] : !row
      scf.yield %w : f32
    }
    memref.store %last, %out[%t] : memref<64xf32>
    gpu.return
  }
}
