// What is divided by a number that is not known is the same in all threads if both numbers are: threads meet in the loop.

// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: gpu.func @trips
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK: gpu.barrier
  // CHECK: scf.yield
  // CHECK: gpu.return
  gpu.func @trips(%x: f32, %out: memref<64xf32>, %n: index, %d: index)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %trips = arith.ceildivui %n, %d : index
    %sum = scf.for %i = %c0 to %trips step %c1 iter_args(%so_far = %x) -> (f32) {
      memref.store %so_far, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      %v = memref.load %s[%mirrored] : memref<64xf32, #gpu.address_space<workgroup>>
      scf.yield %v : f32
    }
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }
}
