// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s
// RUN: async-opt %s --gpux-insert-barriers -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAYS

// A loop with a constant trip count runs exactly that often.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The copy is awaited in the second iteration, of two.
  //
  // SAYS-NOT: warning
  // SAYS: remark: block barriers for workgroup memory: dropped 0 barriers, inserted 1
  // SAYS-NOT: warning
  //
  // CHECK-LABEL: gpu.func @awaited_in_the_last_iteration
  // CHECK: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.store
  gpu.func @awaited_in_the_last_iteration(%a: memref<64xf32>, %x: f32) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %copy = gpux.copy async %a[%t], %s[%t], 1 : memref<64xf32> to !row
    %none = async.join ()
    %left:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%later = %copy, %now = %none) -> (!async.token, !async.token) {
      async.await %now
      scf.yield %now, %later : !async.token, !async.token
    }
    memref.store %x, %s[%mirrored] : !row
    gpu.return
  }
}
