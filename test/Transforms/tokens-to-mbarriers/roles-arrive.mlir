// A named barrier in a role is for the threads that wait at it and for those that arrive there without waiting.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-split-roles | FileCheck %s

// CHECK-LABEL: gpu.func @kernel
// CHECK:         scf.if
// CHECK:           try_wait
// CHECK:           nvvm.barrier id
// CHECK:         } else {
// CHECK:           memref.store
// CHECK:           nvvm.barrier.arrive id
// CHECK:         gpu.return
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line, %out: memref<64xf32>) workgroup(%a: !row, %b: memref<128xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %warp = gpu.subgroup_id : index
    %thread = gpu.thread_id x
    %first = arith.cmpi ult, %warp, %c2 : index
    %one = arith.constant 1.0 : f32
    %id = arith.constant 1 : i32
    %threads = arith.constant 128 : i32
    %t = gpux.bulk_load async %x, %a {issuer = 3 : i32} : !line to !row
    scf.if %first {
      async.await %t
      nvvm.barrier id = %id number_of_threads = %threads
      %v = memref.load %a[%thread] : !row
      memref.store %v, %out[%thread] : memref<64xf32>
    } else {
      memref.store %one, %b[%thread] : memref<128xf32, #gpu.address_space<workgroup>>
      nvvm.barrier.arrive id = %id number_of_threads = %threads
    }
    gpu.return
  }
}
