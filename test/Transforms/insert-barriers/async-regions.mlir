// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// What a region issues is in flight until the token of the region is awaited, and what the region depends on is complete in it: a barrier is
// placed between the two.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @awaited_by_the_token_of_the_region
  // CHECK-NOT: gpu.barrier
  // CHECK: async.await
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @awaited_by_the_token_of_the_region(%in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %token = async.region {
      %copy = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
      async.yield %copy : !async.token
    }
    async.await %token
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @awaits_what_it_depends_on
  // CHECK: %[[COPY:.*]] = gpux.copy async
  // CHECK-NEXT: async.await %[[COPY]]
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: async.region [%[[COPY]]]
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @awaits_what_it_depends_on(%in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %copy = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
    %token, %v = async.region [%copy] -> (f32) {
      %x = memref.load %s[%mirrored] : !row
      async.yield %x : f32
    }
    async.await %token
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
}
