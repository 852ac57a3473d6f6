// A load that nobody awaits must have landed before its mbarrier is armed again, and before the kernel ends. The thread that
// issues waits for it.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --kernel=alone | FileCheck %s --check-prefix=ALONE
// RUN: async-sim %t --kernel=in_a_loop --arg 0=8x64:random --arg 1=3 | FileCheck %s --check-prefix=LOOP
// RUN: async-sim %t --kernel=in_a_loop --arg 0=8x64:random --arg 1=0 | FileCheck %s --check-prefix=LOOP
// RUN: async-sim %t --kernel=on_one_way --arg 2=1 | FileCheck %s --check-prefix=WAY
// RUN: async-sim %t --kernel=on_one_way --arg 2=0 | FileCheck %s --check-prefix=WAY
// RUN: async-sim %t --kernel=awaited_behind --arg 0=8x64:random --arg 1=3 | FileCheck %s --check-prefix=BEHIND

!global = memref<?x64xf32>
!at = memref<64xf32, strided<[1], offset: ?>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!rows = memref<8x64xf32, #gpu.address_space<workgroup>>
!rows_at = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The wait is for phase 0, which has parity 0.
  //
  // CHECK-LABEL: gpu.func @alone
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M:.*]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  // CHECK: gpu.barrier
  // CHECK: nvvm.mbarrier.inval
  //
  // ALONE: alone: clean
  gpu.func @alone(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    gpu.return
  }

  // Every iteration waits for the load of the one before; the first waits for a phase that never was, which is over.
  //
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK: scf.for %[[I:.*]] = %c0 to
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M:.*]][%c0]
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M]][%c0]
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  // CHECK: gpu.barrier
  // CHECK: nvvm.mbarrier.inval
  //
  // LOOP: in_a_loop: clean
  gpu.func @in_a_loop(%x: !global, %n: index) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !rows to !rows_at
      %t = gpux.bulk_load async %from, %to : !at to !rows_at
    }
    gpu.return
  }

  // Awaited on one way only: at the end, the issuing thread waits whatever way it was.
  //
  // CHECK-LABEL: gpu.func @on_one_way
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M:.*]][%c0] :
  // CHECK: scf.if %arg2 {
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  // CHECK: memref.load
  // CHECK: }
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %false
  // CHECK: gpu.barrier
  // CHECK: nvvm.mbarrier.inval
  //
  // WAY: on_one_way: clean
  gpu.func @on_one_way(%x: !line, %y: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %p {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%tid] : !line
    }
    gpu.return
  }

  // Only the last load of the loop is awaited, by all threads. They must not come to that wait while the mbarrier is still two
  // phases behind, where its parity would say that the phase is over; async-sim would report it.
  //
  // CHECK-LABEL: gpu.func @awaited_behind
  // CHECK: scf.for
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK: scf.yield
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: memref.load
  //
  // BEHIND: awaited_behind: clean
  gpu.func @awaited_behind(%x: !global, %n: index, %y: !line) workgroup(%buf: !rows, %a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %none = async.ready
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %none) -> (!async.token) {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !rows to !rows_at
      %u = gpux.bulk_load async %from, %to : !at to !rows_at
      scf.yield %u : !async.token
    }
    async.await %last
    %at = arith.subi %n, %c1 : index
    %v = memref.load %buf[%at, %tid] : !rows
    memref.store %v, %y[%tid] : !line
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %more = gpux.bulk_load async %from0, %a : !at to !row
    async.await %more
    gpu.return
  }
}
