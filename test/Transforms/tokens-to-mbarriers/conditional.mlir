// A phase is armed on every way or on none, so that threads know what to wait for.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --kernel=token_comes_out --arg 1=1 | FileCheck %s --check-prefix=OUT
// RUN: async-sim %t --kernel=token_comes_out --arg 1=0 | FileCheck %s --check-prefix=OUT
// RUN: async-sim %t --kernel=either_load --arg 2=1 | FileCheck %s --check-prefix=EITHER
// RUN: async-sim %t --kernel=either_load --arg 2=0 | FileCheck %s --check-prefix=EITHER
// RUN: async-sim %t --kernel=ready_at_first --arg 0=16x64:random --arg 1=16x64:random --arg 2=7 | FileCheck %s --check-prefix=READY
// RUN: async-sim %t --kernel=selected --arg 1=1 | FileCheck %s --check-prefix=SELECTED
// RUN: async-sim %t --kernel=selected --arg 1=0 | FileCheck %s --check-prefix=SELECTED
// RUN: async-sim %t --kernel=awaited_inside --arg 1=1 | FileCheck %s --check-prefix=INSIDE

!global = memref<?x64xf32>
!at = memref<64xf32, strided<[1], offset: ?>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The condition decides how many bytes are expected, 256 or none, and not whether the phase is armed: the one arrival is
  // after the branch, for all.
  //
  // CHECK-LABEL: gpu.func @token_comes_out
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 256 : i32
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create
  // CHECK: scf.if %arg1 {
  // CHECK: scf.if %{{.*}} {
  // CHECK-NEXT: %[[A:.*]] = nvgpu.mbarrier.get %[[M]][%c0]
  // CHECK-NEXT: %[[P:.*]] = llvm.inttoptr %[[A]]
  // CHECK-NEXT: nvvm.mbarrier.expect_tx %[[P]], %[[BYTES]]
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK: scf.if %{{.*}} {
  // CHECK-NEXT: %{{.*}} = nvgpu.mbarrier.arrive %[[M]][%c0] :
  // CHECK: }
  // CHECK: %[[EVEN:.*]] = arith.cmpi ne, %c0, %c0 : index
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %[[EVEN]]
  //
  // OUT: token_comes_out: clean
  gpu.func @token_comes_out(%x: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = scf.if %p -> (!async.token) {
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    } else {
      %none = async.ready
      scf.yield %none : !async.token
    }
    async.await %t
    gpu.return
  }

  // A load in either arm: still one phase, and one wait.
  //
  // CHECK-LABEL: gpu.func @either_load
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: nvvm.mbarrier.expect_tx
  // CHECK: gpux.bulk_load %arg0, %{{.*}}, %[[M]][%c0] :
  // CHECK: } else {
  // CHECK: nvvm.mbarrier.expect_tx
  // CHECK: gpux.bulk_load %arg1, %{{.*}}, %[[M]][%c0] :
  // CHECK: nvgpu.mbarrier.arrive %[[M]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0], %{{.*}}
  // CHECK-NOT: try_wait
  //
  // EITHER: either_load: clean
  gpu.func @either_load(%x: !line, %y: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = scf.if %p -> (!async.token) {
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    } else {
      %u = gpux.bulk_load async %y, %a : !line to !row
      scf.yield %u : !async.token
    }
    async.await %t
    gpu.return
  }

  // What is awaited in the arm has its phase there, armed with its bytes. On the other way there is no mbarrier at all.
  //
  // CHECK-LABEL: gpu.func @awaited_inside
  // CHECK-NOT: nvgpu.mbarrier
  // CHECK: scf.if %arg1 {
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M]][%c0], %c256
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  // CHECK: gpu.barrier
  // CHECK: nvvm.mbarrier.inval
  // CHECK: }
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.return
  //
  // INSIDE: awaited_inside: clean
  gpu.func @awaited_inside(%x: !line, %p: i1) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    scf.if %p {
      %u = gpux.bulk_load async %x, %a : !line to !row
      async.await %u
    }
    gpu.return
  }

  // In the first iteration there is nothing to wait for: the token's number is -1 then.
  //
  // CHECK-LABEL: gpu.func @ready_at_first
  // CHECK-DAG: %[[NONE:[^ ]+]] = arith.constant -1 : i32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK: %[[LOOP:[0-9]+]]:2 = scf.for %{{.*}} iter_args(%[[COUNT:[a-z0-9]+]] = %[[ZERO]], %[[NUMBER:[a-z0-9]+]] = %[[NONE]]) -> (i32, i32) {
  // CHECK: %[[PENDING:.*]] = arith.cmpi sge, %[[NUMBER]], %[[ZERO]] : i32
  // CHECK-NEXT: scf.if %[[PENDING]] {
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NEXT: }
  // CHECK: scf.yield %{{[a-z0-9]+}}, %[[COUNT]] : i32, i32
  // CHECK: }
  // CHECK: %[[PENDING:.*]] = arith.cmpi sge, %[[LOOP]]#1, %[[ZERO]] : i32
  // CHECK-NEXT: scf.if %[[PENDING]] {
  // CHECK: nvgpu.mbarrier.try_wait.parity
  //
  // READY: ready_at_first: clean
  gpu.func @ready_at_first(%x: !global, %y: !global, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    memref.store %zero, %a[%tid] : !row
    %none = async.ready
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %none) -> (!async.token) {
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %y[%i, %tid] : !global
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %u = gpux.bulk_load async %from, %a : !at to !row
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }

  // One of two tokens that are awaited apart, too: a selection of their numbers.
  //
  // CHECK-LABEL: gpu.func @selected
  // CHECK: num_barriers = 2
  // CHECK-COUNT-2: gpux.bulk_load
  // CHECK: arith.select %arg1, %{{.*}}, %{{.*}} : i32
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: memref.load
  // CHECK-COUNT-2: nvgpu.mbarrier.try_wait.parity
  //
  // SELECTED: selected: clean
  gpu.func @selected(%x: !line, %p: i1, %y: !line) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async %x, %b : !line to !row
    %s = arith.select %p, %t, %u : !async.token
    async.await %s
    %from = scf.if %p -> (!row) {
      scf.yield %a : !row
    } else {
      scf.yield %b : !row
    }
    %v = memref.load %from[%tid] : !row
    memref.store %v, %y[%tid] : !line
    async.await %t
    async.await %u
    gpu.return
  }
}
