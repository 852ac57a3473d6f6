// Where nothing is awaited, any two accesses meet. Of those that one meets, three are named.
//
// RUN: not async-opt %s --gpux-insert-barriers 2>&1 | FileCheck %s

// CHECK-COUNT-3: error: 'memref.load' op accesses memory of the workgroup that another thread accesses at the same time
// CHECK: note: 2 more accesses meet this one
// CHECK-NOT: error

!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @never_awaited(%in: memref<128xf32>, %out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %a = gpux.copy async %in[%t], %s[%mirrored], 1 : memref<128xf32> to !row
    %b = gpux.copy async %in[%t], %s[%mirrored], 1 : memref<128xf32> to !row
    %c = gpux.copy async %in[%t], %s[%mirrored], 1 : memref<128xf32> to !row
    %d = gpux.copy async %in[%t], %s[%mirrored], 1 : memref<128xf32> to !row
    %e = gpux.copy async %in[%t], %s[%mirrored], 1 : memref<128xf32> to !row
    %v = memref.load %s[%t] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    async.await %a, %b, %c, %d, %e
    gpu.return
  }
}
