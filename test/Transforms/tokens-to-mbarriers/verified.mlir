// What is written is checked before it comes out, by code that shares nothing with the pass. These kernels are right, but it is not easy to
// see: the check accepts them, and nothing changes if it is turned off.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=verify-result=false | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier | FileCheck %s --check-prefix=WAR

!global = memref<?x64xf32>
!line = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The loop runs n times, three phases ahead: n + 3 are armed, of which the last three may be awaited or not.
  // What nobody awaits is waited for at the end.
  //
  // CHECK-LABEL: gpu.func @awaited_by_some
  // CHECK: num_barriers = 3
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: nvvm.mbarrier.inval
  //
  // WAR-LABEL: gpu.func @awaited_by_some
  // WAR: nvvm.mbarrier.inval
  gpu.func @awaited_by_some(%x: !global, %n: index, %p: i1) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %t0 = gpux.bulk_load async %from, %a : !line to !row
    %t1 = gpux.bulk_load async %from, %b : !line to !row
    %t2 = gpux.bulk_load async %from, %c : !line to !row
    %last:3 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %t1, %v = %t2)
        -> (!async.token, !async.token, !async.token) {
      async.await %t
      %w = gpux.bulk_load async %from, %a : !line to !row
      scf.yield %u, %v, %w : !async.token, !async.token, !async.token
    }
    scf.if %p {
      async.await %last#0, %last#1, %last#2
    }
    gpu.return
  }

  // The first load is awaited again and again, for the last time when up to five others were: six mbarriers are enough for loops that run three
  // times twice, and no more often.
  //
  // CHECK-LABEL: gpu.func @awaited_again
  // CHECK: num_barriers = 6
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: nvvm.mbarrier.inval
  //
  // WAR-LABEL: gpu.func @awaited_again
  // WAR: nvvm.mbarrier.inval
  gpu.func @awaited_again(%x: !global, %conditions: memref<?xi1>) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %first = gpux.bulk_load async %from, %a : !line to !row
    scf.for %i = %c0 to %c3 step %c1 {
      scf.for %j = %c0 to %c2 step %c1 {
        %p = memref.load %conditions[%i] : memref<?xi1>
        %t = scf.if %p -> !async.token {
          async.await %first
          %u = gpux.bulk_load async %from, %a : !line to !row
          scf.yield %u : !async.token
        } else {
          scf.yield %first : !async.token
        }
        async.await %t
      }
    }
    gpu.return
  }

  // A constant chooses: what it does not choose is not awaited here.
  //
  // CHECK-LABEL: gpu.func @chosen
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: nvvm.mbarrier.inval
  //
  // WAR-LABEL: gpu.func @chosen
  // WAR: nvvm.mbarrier.inval
  gpu.func @chosen(%x: !global) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    %from = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %ready = async.ready
    %t = gpux.bulk_load async %from, %a : !line to !row
    %s = arith.select %true, %ready, %t : !async.token
    async.await %s
    async.await %t
    gpu.return
  }
}
