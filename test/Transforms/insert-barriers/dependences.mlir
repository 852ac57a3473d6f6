// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// A copy awaits the tokens that it depends on before it begins.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Each thread writes its own element twice.
  //
  // CHECK-LABEL: gpu.func @same_elements
  // CHECK: [[FIRST:%.*]] = gpux.copy async
  // CHECK-NEXT: [[SECOND:%.*]] = gpux.copy async [[[FIRST]]]
  // CHECK-NEXT: async.await [[SECOND]]
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @same_elements(%in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %first = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
    %second = gpux.copy async [%first] %in[%mirrored], %s[%t], 1 : memref<64xf32> to !row
    async.await %second
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // Here others have to have awaited their first copies, too: the await comes before the barrier.
  //
  // CHECK-LABEL: gpu.func @other_elements
  // CHECK: [[FIRST:%.*]] = gpux.copy async
  // CHECK-NEXT: async.await [[FIRST]]
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: [[SECOND:%.*]] = gpux.copy async [[[FIRST]]]
  // CHECK-NEXT: async.await [[SECOND]]
  // CHECK-NEXT: memref.load
  gpu.func @other_elements(%in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %first = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
    %second = gpux.copy async [%first] %in[%t], %s[%mirrored], 1 : memref<64xf32> to !row
    async.await %second
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
}
