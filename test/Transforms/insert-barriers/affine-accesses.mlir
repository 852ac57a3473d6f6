// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Accesses at maps of their operands, and loops that count by maps.

!slots = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK: affine.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: affine.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @in_a_loop(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    affine.for %i = 1 to %n {
      affine.store %x, %s[%i mod 2, %t] : !slots
      %v = affine.load %s[%i mod 2, 63 - %t] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // The slot stays for two iterations.
  //
  // CHECK-LABEL: gpu.func @two_at_a_time
  // CHECK: affine.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: affine.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @two_at_a_time(%x: f32, %out: memref<64xf32>) workgroup(%s: memref<3x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    affine.for %i = 0 to 6 {
      affine.store %x, %s[%i floordiv 2, %t] : memref<3x64xf32, #gpu.address_space<workgroup>>
      %v = affine.load %s[%i floordiv 2, 63 - %t] : memref<3x64xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @vectors
  // CHECK: affine.vector_store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: affine.vector_load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @vectors(%x: vector<2xf32>, %out: memref<32xvector<2xf32>>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    affine.for %i = 0 to %n step 3 {
      affine.vector_store %x, %s[%i mod 2, 2 * %t] : !slots, vector<2xf32>
      %v = affine.vector_load %s[%i mod 2, 62 - 2 * %t] : !slots, vector<2xf32>
      memref.store %v, %out[%t] : memref<32xvector<2xf32>>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @carried
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @carried(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = affine.for %i = 0 to %n iter_args(%slot = %c0) -> index {
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %next = arith.subi %c1, %slot : index
      affine.yield %next : index
    }
    gpu.return
  }

  // Each thread has its own element, wherever the slot is.
  //
  // CHECK-LABEL: gpu.func @own_elements
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @own_elements(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    affine.for %i = 0 to %n {
      affine.store %x, %s[%i mod 2, %t] : !slots
      %v = affine.load %s[(%i + 1) mod 2, %t] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }
}
