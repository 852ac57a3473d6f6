// RUN: async-opt %s --gpux-insert-barriers -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %t --arg=2=1 | FileCheck %s --check-prefix=CLEAN

// Without iterations, the copy would still be in flight where its bytes are read: that gets a warning, since perhaps there always are
// some. All barriers that take its place in the order of what comes after are there all the same.

// SAID: warning: {{.*}}may access memory of the workgroup that another thread accesses at the same time
// SAID: remark: {{.*}}dropped 3 barriers, inserted 3
// CLEAN: clean

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @awaited_in_a_loop
  // CHECK: gpux.copy async
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @awaited_in_a_loop(%in: memref<64xf32>, %out: memref<64xf32>, %n: index) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %token = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
    scf.for %i = %c0 to %n step %c1 {
      async.await %token
    }
    gpu.barrier
    %v = memref.load %s[%mirrored] : !row
    gpu.barrier
    memref.store %v, %s[%t] : !row
    gpu.barrier
    %w = memref.load %s[%mirrored] : !row
    memref.store %w, %out[%t] : memref<64xf32>
    gpu.return
  }
}
