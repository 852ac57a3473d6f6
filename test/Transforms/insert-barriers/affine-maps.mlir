// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | FileCheck %s --implicit-check-not=gpu.barrier

// What affine maps compute of threads and iterations is known as what arith computes is.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Another way to write the thread's own number.
  //
  // CHECK-LABEL: gpu.func @own_element
  // CHECK: gpu.return
  gpu.func @own_element(%x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %same = affine.apply affine_map<(t) -> ((t floordiv 4) * 4 + t mod 4)>(%t)
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%same] : !row
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @element_of_a_neighbor
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @element_of_a_neighbor(%x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %other = affine.apply affine_map<(t) -> ((t + 1) mod 64)>(%t)
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%other] : !row
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // Three slots: what is written has been read two iterations before, and one barrier is between.
  //
  // CHECK-LABEL: gpu.func @slots
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.return
  gpu.func @slots(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: memref<3x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirror = affine.apply affine_map<(t) -> (63 - t)>(%t)
    scf.for %i = %c0 to %n step %c16 {
      %slot = affine.apply affine_map<(i) -> ((i floordiv 16) mod 3)>(%i)
      memref.store %x, %s[%slot, %t] : memref<3x64xf32, #gpu.address_space<workgroup>>
      %v = memref.load %s[%slot, %mirror] : memref<3x64xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // One slot is written while threads still read it.
  //
  // CHECK-LABEL: gpu.func @one_slot
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @one_slot(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: memref<3x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirror = affine.apply affine_map<(t) -> (63 - t)>(%t)
    scf.for %i = %c0 to %n step %c16 {
      %slot = affine.apply affine_map<(i) -> ((i ceildiv 16) * 0 + i mod 16)>(%i)
      memref.store %x, %s[%slot, %t] : memref<3x64xf32, #gpu.address_space<workgroup>>
      %v = memref.load %s[%slot, %mirror] : memref<3x64xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }
}
