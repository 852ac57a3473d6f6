// RUN: async-opt %s --async-pipeline=short-trips=branch 2>/dev/null | FileCheck %s
// RUN: async-opt %s --async-pipeline=short-trips=branch 2>/dev/null | async-sim --kernel=sums --arg 0=1280:ramp --arg 1=128:zero --arg 2=10 --print | FileCheck %s --check-prefix=LONG
// RUN: async-opt %s --async-pipeline=short-trips=branch 2>/dev/null | async-sim --kernel=sums --arg 0=1280:ramp --arg 1=128:zero --arg 2=2 --print | FileCheck %s --check-prefix=SHORT
// RUN: async-opt %s --async-pipeline=short-trips=branch 2>/dev/null | async-sim --kernel=sums --arg 0=1280:ramp --arg 1=128:zero --arg 2=0 --print | FileCheck %s --check-prefix=NONE
// LONG: sums: clean
// LONG: argument 1: 5760 5770
// SHORT: sums: clean
// SHORT: argument 1: 128 130
// NONE: sums: clean
// NONE: argument 1: 0 0

!In = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // With three rounds before the kernel there have to be three iterations. Then nothing is guarded; else the loop is what it was, in
  // the first version of its buffer. A slot of four is counted with a mask.
  // CHECK-LABEL: gpu.func @sums
  // CHECK:         %[[ENOUGH:.*]] = arith.cmpi ugt, %{{.*}}, %c2 : index
  // CHECK:         %[[SUM:.*]]:2 = scf.if %[[ENOUGH]] -> (f32, f32) {
  // CHECK-NOT:       scf.if
  // CHECK-COUNT-3:   gpux.copy async
  // CHECK-NOT:       scf.if
  // CHECK:           %[[LOOP:.*]]:{{[0-9]}} = scf.for
  // CHECK-NOT:         arith.cmpi
  // CHECK:             arith.andi %{{.*}}, %c3_i32 : i32
  // CHECK:             gpux.copy async
  // CHECK:             async.await
  // CHECK-NOT:         async.await
  // CHECK:           scf.yield
  // CHECK:           async.await %[[LOOP]]#
  // CHECK:           async.await %[[LOOP]]#
  // CHECK:           async.await %[[LOOP]]#
  // CHECK-NOT:       scf.if
  // CHECK:           scf.yield %{{.*}}, %{{.*}} : f32, f32
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      %[[AS_IT_WAS:.*]]:2 = scf.for
  // CHECK-NEXT:        arith.muli
  // CHECK-NEXT:        arith.addi
  // CHECK-NEXT:        %[[TOKEN:.*]] = gpux.copy async
  // CHECK-NEXT:        async.await %[[TOKEN]]
  // CHECK:             scf.yield
  // CHECK:           scf.yield %[[AS_IT_WAS]]#0, %[[AS_IT_WAS]]#1 : f32, f32
  // CHECK-NEXT:    }
  // CHECK-NEXT:    memref.store %[[SUM]]#0
  gpu.func @sums(%in: !In, %out: memref<128xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    %sum, %unused = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %u = %zero) -> (f32, f32) {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      async.await %token {async.stage = 3, async.order = 1}
      %v = memref.load %tile[%t] {async.stage = 3, async.order = 2} : !Tile
      %next = arith.addf %s, %v : f32
      scf.yield %next, %v : f32, f32
    }
    memref.store %sum, %out[%t] : memref<128xf32>
    gpu.return
  }

  // How often this one runs is known, so it is there once.
  // CHECK-LABEL: gpu.func @known
  // CHECK-NOT:     scf.if
  // CHECK:         scf.for
  // CHECK-NOT:     scf.for
  // CHECK:         gpu.return
  gpu.func @known(%in: !In) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %token = gpux.copy async %in[%i], %tile[%t], 1 {async.stage = 0, async.order = 0} : !In to !Tile
      async.await %token {async.stage = 1, async.order = 1}
    }
    gpu.return
  }
}
