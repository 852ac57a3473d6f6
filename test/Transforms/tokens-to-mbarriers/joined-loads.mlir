// The loads of a loop whose tokens are joined up share one phase, which is armed outside.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --kernel=constant_trips --arg 0=8x64:random | FileCheck %s --check-prefix=CONSTANT
// RUN: async-sim %t --kernel=unknown_trips --arg 0=8x64:random --arg 1=5 | FileCheck %s --check-prefix=UNKNOWN
// RUN: async-sim %t --kernel=unknown_trips --arg 0=8x64:random --arg 1=0 | FileCheck %s --check-prefix=UNKNOWN
// RUN: async-sim %t --kernel=one_before --arg 0=8x64:random | FileCheck %s --check-prefix=BEFORE
// RUN: async-sim %t --kernel=nested --arg 0=8x64:random | FileCheck %s --check-prefix=NESTED
// RUN: async-sim %t --kernel=some_of_a_loop --arg 0=8x64:random --arg 1=7 | FileCheck %s --check-prefix=SOME
// RUN: async-sim %t --kernel=some_of_a_loop --arg 0=8x64:random --arg 1=0 | FileCheck %s --check-prefix=SOME
// RUN: async-sim %t --kernel=awaited_in_the_outer_loop --arg 0=8x64:random | FileCheck %s --check-prefix=OUTER
// RUN: async-sim %t --kernel=carried_on --arg 0=8x64:random | FileCheck %s --check-prefix=CARRIED

!global = memref<?x64xf32>
!line = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!rows = memref<8x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Eight times 256 bytes, expected at once.
  //
  // CHECK-LABEL: gpu.func @constant_trips
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 2048 : index
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M]][%c0], %[[BYTES]]
  // CHECK: scf.for
  // CHECK-NOT: expect_tx
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK-NOT: nvgpu.mbarrier.arrive
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  //
  // CONSTANT: constant_trips: clean
  gpu.func @constant_trips(%x: !global) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %none = async.ready
    %all = scf.for %i = %c0 to %c8 step %c1 iter_args(%before = %none) -> (!async.token) {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !rows to !row
      %t = gpux.bulk_load async %from, %to : !line to !row
      %both = async.join %before, %t
      scf.yield %both : !async.token
    }
    async.await %all
    gpu.return
  }

  // How many there are shows while it runs: each load says what it brings, and the arrival comes after the last.
  //
  // CHECK-LABEL: gpu.func @unknown_trips
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 256 : i32
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NOT: arrive
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK-NEXT: %[[A:.*]] = nvgpu.mbarrier.get %[[M]][%c0]
  // CHECK-NEXT: %[[P:.*]] = llvm.inttoptr %[[A]]
  // CHECK-NEXT: nvvm.mbarrier.expect_tx %[[P]], %[[BYTES]]
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.arrive %[[M]][%c0] :
  // CHECK-NEXT: }
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  //
  // UNKNOWN: unknown_trips: clean
  gpu.func @unknown_trips(%x: !global, %n: index) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = async.ready
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%before = %none) -> (!async.token) {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !rows to !row
      %t = gpux.bulk_load async %from, %to : !line to !row
      %both = async.join %before, %t
      scf.yield %both : !async.token
    }
    async.await %all
    gpu.return
  }

  // A load before the loop that goes into the join is of the same phase: 9 * 256 bytes.
  //
  // CHECK-LABEL: gpu.func @one_before
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 2304 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M:.*]][%c0], %[[BYTES]]
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK: scf.for
  // CHECK-NOT: expect_tx
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  //
  // BEFORE: one_before: clean
  gpu.func @one_before(%x: !global) workgroup(%buf: !rows, %first: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %t0 = gpux.bulk_load async %from0, %first : !line to memref<64xf32, #gpu.address_space<workgroup>>
    %all = scf.for %i = %c0 to %c8 step %c1 iter_args(%before = %t0) -> (!async.token) {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !rows to !row
      %t = gpux.bulk_load async %from, %to : !line to !row
      %both = async.join %t, %before
      scf.yield %both : !async.token
    }
    async.await %all
    gpu.return
  }

  // A phase counts less than 2^20 bytes. Two loads of 2^19 are too many together, so they have a phase each.
  //
  // CHECK-LABEL: gpu.func @too_many_bytes
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 524288 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M:.*]][%c0], %[[BYTES]]
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[N:.*]][%c0], %[[BYTES]]
  // CHECK-COUNT-2: nvgpu.mbarrier.try_wait.parity
  gpu.func @too_many_bytes(%x: memref<131072xf32>)
      workgroup(%a: memref<131072xf32, #gpu.address_space<workgroup>>,
                %b: memref<131072xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : memref<131072xf32> to memref<131072xf32, #gpu.address_space<workgroup>>
    %u = gpux.bulk_load async %x, %b : memref<131072xf32> to memref<131072xf32, #gpu.address_space<workgroup>>
    async.await %t, %u
    gpu.return
  }

  // Two loops around one another: rows and columns of boxes, say.
  //
  // CHECK-LABEL: gpu.func @nested
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 2048 : index
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M]][%c0], %[[BYTES]]
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK-NOT: nvgpu.mbarrier.arrive
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  //
  // NESTED: nested: clean
  gpu.func @nested(%x: !global) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %none = async.ready
    %all = scf.for %i = %c0 to %c2 step %c1 iter_args(%outer = %none) -> (!async.token) {
      %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%before = %outer) -> (!async.token) {
        %k = arith.muli %i, %c4 : index
        %at = arith.addi %k, %j : index
        %from = memref.subview %x[%at, 0] [1, 64] [1, 1] : !global to !line
        %to = memref.subview %buf[%at, 0] [1, 64] [1, 1] : !rows to !row
        %t = gpux.bulk_load async %from, %to : !line to !row
        %both = async.join %t, %before
        scf.yield %both : !async.token
      }
      scf.yield %inner : !async.token
    }
    async.await %all
    gpu.return
  }

  // Some of the loads, and any number of rounds: each load says its own bytes.
  //
  // CHECK-LABEL: gpu.func @some_of_a_loop
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: nvvm.mbarrier.expect_tx
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%c0] :
  // CHECK-NOT: try_wait
  // CHECK: nvgpu.mbarrier.arrive %[[M]][%c0]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%c0]
  //
  // SOME: some_of_a_loop: clean
  gpu.func @some_of_a_loop(%x: !global, %n: index) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %none = async.ready
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%before = %none) -> (!async.token) {
      %odd = arith.remui %i, %c2 : index
      %is_odd = arith.cmpi eq, %odd, %c1 : index
      %now = scf.if %is_odd -> (!async.token) {
        %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !line
        %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !rows to !row
        %t = gpux.bulk_load async %from, %to : !line to !row
        %both = async.join %t, %before
        scf.yield %both : !async.token
      } else {
        scf.yield %before : !async.token
      }
      scf.yield %now : !async.token
    }
    async.await %all
    gpu.return
  }

  // What an inner loop joins up is awaited before the outer one goes on: a phase in each round.
  //
  // CHECK-LABEL: gpu.func @awaited_in_the_outer_loop
  // CHECK: scf.for
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK: scf.for
  // CHECK: gpux.bulk_load
  // CHECK: }
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: }
  //
  // OUTER: awaited_in_the_outer_loop: clean
  gpu.func @awaited_in_the_outer_loop(%x: !global) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %none = async.ready
    scf.for %i = %c0 to %c2 step %c1 {
      %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%before = %none) -> (!async.token) {
        %k = arith.muli %i, %c4 : index
        %at = arith.addi %k, %j : index
        %from = memref.subview %x[%at, 0] [1, 64] [1, 1] : !global to !line
        %to = memref.subview %buf[%at, 0] [1, 64] [1, 1] : !rows to !row
        %t = gpux.bulk_load async %from, %to : !line to !row
        %both = async.join %t, %before
        scf.yield %both : !async.token
      }
      async.await %inner
    }
    gpu.return
  }

  // The inner loop takes on what the outer one carries, which is awaited there: its loads can't have their phase outside.
  //
  // CARRIED: carried_on: clean
  gpu.func @carried_on(%x: !global) workgroup(%buf: !rows) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %none = async.ready
    %all = scf.for %i = %c0 to %c2 step %c1 iter_args(%outer = %none) -> (!async.token) {
      %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%before = %outer) -> (!async.token) {
        %k = arith.muli %i, %c4 : index
        %at = arith.addi %k, %j : index
        %from = memref.subview %x[%at, 0] [1, 64] [1, 1] : !global to !line
        %to = memref.subview %buf[%at, 0] [1, 64] [1, 1] : !rows to !row
        %t = gpux.bulk_load async %from, %to : !line to !row
        %both = async.join %t, %before
        scf.yield %both : !async.token
      }
      async.await %inner
      scf.yield %inner : !async.token
    }
    async.await %all
    gpu.return
  }
}
