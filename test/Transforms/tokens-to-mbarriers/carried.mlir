// Where no induction variable says which phase it is, the program counts while it runs: an i32 that goes from 0 to twice the
// depth, and from there to 0 again. Slot and parity follow from it.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --kernel=while --arg 0=16x64:random --arg 1=16x64:random --arg 2=9 | FileCheck %s --check-prefix=WHILE
// RUN: async-sim %t --kernel=while --arg 0=16x64:random --arg 1=16x64:random --arg 2=0 | FileCheck %s --check-prefix=WHILE
// RUN: async-sim %t --kernel=persistent --arg 0=16x64:random --arg 1=16x64:random --arg 2=3 --arg 3=5 | FileCheck %s --check-prefix=PERSISTENT
// RUN: async-sim %t --kernel=loop_under_condition --arg 0=16x64:random --arg 1=16x64:random --arg 2=5 --arg 3=1 | FileCheck %s --check-prefix=UNDER
// RUN: async-sim %t --kernel=loop_under_condition --arg 0=16x64:random --arg 1=16x64:random --arg 2=5 --arg 3=0 | FileCheck %s --check-prefix=UNDER

!global = memref<?x64xf32>
!line = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!two = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two mbarriers: the count goes from 0 to 3, is even or odd in its round by whether it is below 2, and its slot is what it
  // is above that.
  //
  // CHECK-LABEL: gpu.func @while
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i32
  // CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : i32
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%c0]
  // CHECK: scf.while ({{.*}}) : (index, i32, i32) -> (index, i32, i32) {
  // CHECK: } do {
  // CHECK: ^bb0(%{{[a-z0-9]+}}: index, %[[COUNT:[a-z0-9]+]]: i32, %[[NUMBER:[a-z0-9]+]]: i32):
  // CHECK: %[[ODD:.*]] = arith.cmpi sge, %[[COUNT]], %[[TWO]] : i32
  // CHECK: %[[LESS:.*]] = arith.subi %[[COUNT]], %[[TWO]] : i32
  // CHECK: %[[SLOT:.*]] = arith.select %[[ODD]], %[[LESS]], %[[COUNT]] : i32
  // CHECK: %[[FREE:.*]] = arith.index_cast %[[SLOT]] : i32 to index
  // CHECK: %[[MORE:.*]] = arith.addi %[[COUNT]], %[[ONE]] : i32
  // CHECK: %[[AROUND:.*]] = arith.cmpi eq, %[[MORE]], %[[FOUR]] : i32
  // CHECK: %[[NEXT:.*]] = arith.select %[[AROUND]], %[[ZERO]], %[[MORE]] : i32
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%[[FREE]]]
  // CHECK: %[[PARITY:.*]] = arith.cmpi sge, %[[NUMBER]], %[[TWO]] : i32
  // CHECK: arith.select %[[PARITY]], %{{.*}}, %[[NUMBER]] : i32
  // CHECK: %[[FULL:.*]] = arith.index_cast
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]][%[[FULL]]], %[[PARITY]]
  // CHECK: scf.yield %{{[a-z0-9]+}}, %[[NEXT]], %[[COUNT]] : index, i32, i32
  //
  // WHILE: while: clean
  gpu.func @while(%x: !global, %y: !global, %n: index) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !two to !row
    %t0 = gpux.bulk_load async %from0, %to0 : !line to !row
    %last:2 = scf.while (%i = %c0, %t = %t0) : (index, !async.token) -> (index, !async.token) {
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %i, %t : index, !async.token
    } do {
    ^bb0(%i: index, %t: !async.token):
      %next = arith.addi %i, %c1 : index
      %free = arith.remui %next, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !two to !row
      %u = gpux.bulk_load async %from, %to : !line to !row
      async.await %t
      %full = arith.remui %i, %c2 : index
      %v = memref.load %buf[%full, %tid] : !two
      memref.store %v, %y[%i, %tid] : !global
      scf.yield %next, %u : index, !async.token
    }
    async.await %last#1
    gpu.return
  }

  // A pipeline in a persistent loop, both of unknown trip counts: the mbarriers are not made anew, so the count goes on from
  // one tile to the next. They are initialized once, outside.
  //
  // CHECK-LABEL: gpu.func @persistent
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create
  // CHECK: nvgpu.mbarrier.init
  // CHECK: scf.for %{{.*}} iter_args(%[[OUTER:[a-z0-9]+]] = %c0_i32) -> (i32) {
  // CHECK-NOT: nvgpu.mbarrier.init
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]]
  // CHECK: %[[INNER:[0-9]+]]:2 = scf.for %{{.*}} iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9]+}}, %{{[a-z0-9]+}} = %[[OUTER]]) -> (i32, i32) {
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]]
  // CHECK: scf.yield %{{.*}}, %{{.*}} : i32, i32
  // CHECK: }
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]]
  // CHECK: scf.yield %[[INNER]]#0 : i32
  // CHECK: }
  // CHECK: nvvm.mbarrier.inval
  //
  // PERSISTENT: persistent: clean
  gpu.func @persistent(%x: !global, %y: !global, %tiles: index, %n: index) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    scf.for %tile = %c0 to %tiles step %c1 {
      %from0 = memref.subview %x[%tile, 0] [1, 64] [1, 1] : !global to !line
      %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !two to !row
      %t0 = gpux.bulk_load async %from0, %to0 : !line to !row
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> (!async.token) {
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
    }
    gpu.return
  }

  // A loop that may be left out, and a second one after it on the same buffers.
  //
  // CHECK-LABEL: gpu.func @loop_under_condition
  // CHECK: scf.if %{{.*}} -> (i32) {
  // CHECK: scf.for
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %c0_i32 : i32
  // CHECK: }
  //
  // UNDER: loop_under_condition: clean
  gpu.func @loop_under_condition(%x: !global, %y: !global, %n: index, %p: i1) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !two to !row
    %to1 = memref.subview %buf[%c1, 0] [1, 64] [1, 1] : !two to !row
    %t0 = gpux.bulk_load async %from0, %to0 : !line to !row
    %t = scf.if %p -> (!async.token) {
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %t0) -> (!async.token) {
        async.await %a
        %v = memref.load %buf[%c0, %tid] : !two
        memref.store %v, %y[%i, %tid] : !global
        %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !line
        %u = gpux.bulk_load async %from, %to0 : !line to !row
        scf.yield %u : !async.token
      }
      scf.yield %last : !async.token
    } else {
      scf.yield %t0 : !async.token
    }
    %u = gpux.bulk_load async %from0, %to1 : !line to !row
    async.await %t, %u
    %v = memref.load %buf[%c0, %tid] : !two
    memref.store %v, %y[%n, %tid] : !global
    gpu.return
  }
}
