// How often a loop runs may be known: so are then the numbers of the phases that come out of it, unless they are beyond all
// numbers.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-opt %t --canonicalize --cse | FileCheck %s
// RUN: async-sim %t --kernel=five --arg 0=16x64:random --arg 1=16x64:zero | FileCheck %s --check-prefix=FIVE

!global = memref<?x64xf32>
!line = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!two = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Phase 5 of two mbarriers comes out: slot 1, in its third round.
  //
  // CHECK-LABEL: gpu.func @five
  // CHECK: %[[FALSE:.*]] = arith.constant false
  // CHECK: scf.for
  // CHECK-NOT: iter_args
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: }
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %{{.*}}[%c1], %[[FALSE]]
  //
  // FIVE: five: clean
  gpu.func @five(%x: !global, %y: !global) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !two to !row
    %t0 = gpux.bulk_load async %from0, %to0 : !line to !row
    %last = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %t0) -> (!async.token) {
      %next = arith.addi %i, %c1 : index
      %free = arith.remui %next, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !two to !row
      %u = gpux.bulk_load async %from, %to : !line to !row
      async.await %t
      %full = arith.remui %i, %c2 : index
      %v = memref.load %buf[%full, %tid] : !two
      memref.store %v, %y[%i, %tid] : !global
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // As many phases as two such loops open have no number that an index could hold: the program counts.
  //
  // CHECK-LABEL: gpu.func @very_long
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %c0_i32) -> (i32) {
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i32) {
  gpu.func @very_long(%x: !line) workgroup(%buf: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %many = arith.constant 9223372036854775807 : index
    scf.for %i = %c0 to %many step %c1 {
      scf.for %j = %c0 to %many step %c1 {
        %t = gpux.bulk_load async %x, %buf : !line to memref<64xf32, #gpu.address_space<workgroup>>
        async.await %t
      }
    }
    gpu.return
  }
}
