// A ring of three mbarriers takes a counter, since three is no power of two. With round-rings it has four, and which one it is, and with
// which parity, are bits of the number of the iteration.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize | FileCheck %s --check-prefix=FEWEST
// RUN: async-opt %s --gpux-tokens-to-mbarriers=round-rings --canonicalize | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers="round-rings war=mbarrier" --canonicalize | FileCheck %s

!tiles = memref<3x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// FEWEST: num_barriers = 3
// FEWEST: scf.for {{.*}} -> (i32
//
// CHECK: num_barriers = 4
// CHECK-NOT: num_barriers = 3
// CHECK: scf.for %[[I:.*]] = %c0 to %{{[^ ]*}} step %c1 {
// CHECK-DAG: %[[SLOT:.*]] = arith.remui %[[I]], %c4
// CHECK-DAG: %[[TURN:.*]] = arith.divui %[[I]], %c4
// CHECK: nvgpu.mbarrier.try_wait.parity %{{.*}}[%[[SLOT]]]
gpu.module @m {
  gpu.func @three(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %n: index) workgroup(%s: !tiles) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %t = gpu.thread_id x
    %x0 = memref.subview %x[0, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1]>>
    %x1 = memref.subview %x[1, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: 64>>
    %s0 = memref.subview %s[0, 0] [1, 64] [1, 1] : !tiles to memref<64xf32, strided<[1]>, #gpu.address_space<workgroup>>
    %s1 = memref.subview %s[1, 0] [1, 64] [1, 1] : !tiles to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
    %t0 = gpux.bulk_load async %x0, %s0 : memref<64xf32, strided<[1]>> to memref<64xf32, strided<[1]>, #gpu.address_space<workgroup>>
    %t1 = gpux.bulk_load async %x1, %s1 : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%this = %t0, %next = %t1) -> (!async.token, !async.token) {
      %ahead = arith.addi %i, %c2 : index
      %to = arith.remui %ahead, %c3 : index
      %slot = arith.remui %i, %c3 : index
      %from = memref.subview %x[%ahead, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      %into = memref.subview %s[%to, 0] [1, 64] [1, 1] : !tiles to !slot
      %more = gpux.bulk_load async %from, %into : memref<64xf32, strided<[1], offset: ?>> to !slot
      async.await %this
      %v = memref.load %s[%slot, %t] : !tiles
      memref.store %v, %y[%i, %t] : memref<?x64xf32>
      scf.yield %next, %more : !async.token, !async.token
    }
    async.await %r#0, %r#1
    gpu.return
  }
}
