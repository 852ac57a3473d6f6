// Tokens that rotate through a loop are phases of one ring: phase n is on slot n mod depth, with the parity of n / depth. The
// iteration says which one it is. Where the depth is a power of two, slot and parity are two shifts and a mask of it, and
// nothing is carried around the loop any more. By another depth, or from an induction variable with any step, it would take
// 64-bit multiplications: there the program counts.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=explain 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-sim %t --kernel=two --arg 0=8x64:ramp --arg 1=8x64:zero --arg 2=7 --print | FileCheck %s --check-prefix=TWO
// RUN: async-sim %t --kernel=two --arg 0=8x64:ramp --arg 1=8x64:zero --arg 2=0 | FileCheck %s --check-prefix=NONE
// RUN: async-sim %t --kernel=three --arg 0=16x64:random --arg 1=16x64:random --arg 2=9 | FileCheck %s --check-prefix=THREE
// RUN: async-sim %t --kernel=bounds --arg 0=32x64:random --arg 1=32x64:random --arg 2=3 --arg 3=20 --arg 4=4 | FileCheck %s --check-prefix=BOUNDS
// RUN: async-sim %t --kernel=epilogue --arg 0=16x64:random --arg 1=16x64:random --arg 2=5 --schedule=random --runs=3 | FileCheck %s --check-prefix=EPILOGUE
// RUN: async-sim %t --kernel=epilogue --arg 0=16x64:random --arg 1=16x64:random --arg 2=0 | FileCheck %s --check-prefix=EPILOGUE

// EXPLAIN: ring 0: 2 mbarriers{{.*}}; the numbers of its phases are known{{$}}
// EXPLAIN: ring 0: 3 mbarriers{{.*}}; the numbers of its phases are known, and counted since that costs less than a division

!global = memref<?x64xf32>
!line = memref<64xf32, strided<[1], offset: ?>>
!row = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!two = memref<2x64xf32, #gpu.address_space<workgroup>>
!three = memref<3x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two slots: one is loaded while the other is in use. The load of iteration i is phase i + 1, the await is for phase i.
  // The barrier is for the buffer, whose other readers may be slower; the mbarrier needs none of its own.
  //
  // CHECK-LABEL: gpu.func @two
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK-NEXT: nvgpu.mbarrier.init %[[RING]][%[[C0]]]
  // CHECK-NEXT: nvgpu.mbarrier.init %[[RING]][%[[C1]]]
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%[[C0]]] :
  // CHECK: scf.for %[[I:.*]] = %[[C0]] to %{{.*}} step %[[C1]] {
  // CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %[[C1]] : index
  // CHECK: %[[FREE:.*]] = arith.remui %[[NEXT]], %[[C2]] : index
  // CHECK: gpu.barrier
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%[[FREE]]]
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%[[FREE]]] :
  // CHECK: %[[FULL:.*]] = arith.remui %[[I]], %[[C2]] : index
  // CHECK: %[[ROUND:.*]] = arith.divui %[[I]], %[[C2]] : index
  // CHECK: %[[ODD:.*]] = arith.remui %[[ROUND]], %[[C2]] : index
  // CHECK: %[[PARITY:.*]] = arith.cmpi ne, %[[ODD]], %[[C0]] : index
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[RING]][%[[FULL]]], %[[PARITY]]
  // CHECK-NOT: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: memref.store
  // CHECK-NEXT: }
  //
  // After the loop, the last one is on its way: it was phase n, if the loop ran n times.
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]]
  // CHECK-NOT: try_wait
  // CHECK: gpu.barrier
  // CHECK-COUNT-2: nvvm.mbarrier.inval
  // CHECK: gpu.return
  //
  // Row k of a ramp that begins anew after 128 starts with 64 * (k mod 2).
  // TWO: two: clean
  // TWO: argument 1: 0 1 2 3
  // NONE: two: clean
  gpu.func @two(%x: !global, %y: !global, %n: index) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
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
    gpu.return
  }

  // Two loads ahead of the one that is awaited: phases i, i + 1 and i + 2 are live at once.
  //
  // CHECK-LABEL: gpu.func @three
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  // CHECK-COUNT-3: nvgpu.mbarrier.init %[[RING]]
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c0] :
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%c1] :
  //
  // Counted modulo six: from three on, the second round. The next phase is 2, those that are awaited are 0 and 1.
  //
  // CHECK: scf.for %{{.*}} = %c0 to %{{.*}} iter_args(%[[NEXT:.*]] = %c2_i32, %[[OLDEST:.*]] = %c0_i32, %[[OTHER:.*]] = %c1_i32)
  // CHECK: %[[AGAIN:.*]] = arith.cmpi sge, %[[NEXT]], %c3_i32 : i32
  // CHECK-NEXT: %[[LESS:.*]] = arith.subi %[[NEXT]], %c3_i32 : i32
  // CHECK-NEXT: %[[FREE32:.*]] = arith.select %[[AGAIN]], %[[LESS]], %[[NEXT]] : i32
  // CHECK-NEXT: %[[FREE:.*]] = arith.index_cast %[[FREE32]] : i32 to index
  // CHECK-NEXT: %[[MORE:.*]] = arith.addi %[[NEXT]], %c1_i32 : i32
  // CHECK-NEXT: %[[WRAPS:.*]] = arith.cmpi eq, %[[MORE]], %c6_i32 : i32
  // CHECK-NEXT: %[[AFTER:.*]] = arith.select %[[WRAPS]], %c0_i32, %[[MORE]] : i32
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[RING]][%[[FREE]]] :
  // CHECK: %[[PARITY:.*]] = arith.cmpi sge, %[[OLDEST]], %c3_i32 : i32
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]][%{{.*}}], %[[PARITY]]
  // CHECK-NOT: try_wait
  // CHECK: scf.yield %[[AFTER]], %[[OTHER]], %[[NEXT]] : i32, i32, i32
  // CHECK: }
  // CHECK-COUNT-2: nvgpu.mbarrier.try_wait.parity %[[RING]]
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  //
  // THREE: three: clean
  gpu.func @three(%x: !global, %y: !global, %n: index) workgroup(%buf: !three) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !three to !row
    %t0 = gpux.bulk_load async %from0, %to0 : !line to !row
    %from1 = memref.subview %x[%c1, 0] [1, 64] [1, 1] : !global to !line
    %to1 = memref.subview %buf[%c1, 0] [1, 64] [1, 1] : !three to !row
    %t1 = gpux.bulk_load async %from1, %to1 : !line to !row
    %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %u = %t1) -> (!async.token, !async.token) {
      %ahead = arith.addi %i, %c2 : index
      %free = arith.remui %ahead, %c3 : index
      %from = memref.subview %x[%ahead, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !three to !row
      %new = gpux.bulk_load async %from, %to : !line to !row
      async.await %t
      %full = arith.remui %i, %c3 : index
      %v = memref.load %buf[%full, %tid] : !three
      memref.store %v, %y[%i, %tid] : !global
      scf.yield %u, %new : !async.token, !async.token
    }
    async.await %last#0, %last#1
    gpu.return
  }

  // The iteration is what counts, not the induction variable, and (i - first) / step is a division: so it is counted.
  //
  // CHECK-LABEL: gpu.func @bounds
  // CHECK-SAME: %[[FIRST:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index)
  // CHECK: num_barriers = 2
  // CHECK-NOT: arith.divui
  // CHECK: scf.for %{{[a-z0-9]+}} = %[[FIRST]] to %[[END]] step %[[STEP]] iter_args({{.*}}, %{{.*}} = %c1_i32, %[[OLDEST:.*]] = %c0_i32)
  // CHECK-NOT: arith.divui
  // CHECK: %[[PARITY:.*]] = arith.cmpi sge, %[[OLDEST]], %c2_i32 : i32
  // CHECK: nvgpu.mbarrier.try_wait.parity %{{.*}}[%{{.*}}], %[[PARITY]]
  // CHECK-NOT: arith.divui
  //
  // From 3 to 20 in steps of 4: 3, 7, 11, 15, 19.
  // BOUNDS: bounds: clean
  gpu.func @bounds(%x: !global, %y: !global, %first: index, %end: index, %step: index) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%first, 0] [1, 64] [1, 1] : !global to !line
    %to0 = memref.subview %buf[%c0, 0] [1, 64] [1, 1] : !two to !row
    %t0 = gpux.bulk_load async %from0, %to0 : !line to !row
    %last:2 = scf.for %i = %first to %end step %step iter_args(%t = %t0, %full = %c0) -> (!async.token, index) {
      %next = arith.addi %i, %step : index
      %free = arith.subi %c1, %full : index
      %from = memref.subview %x[%next, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !two to !row
      %u = gpux.bulk_load async %from, %to : !line to !row
      async.await %t
      %v = memref.load %buf[%full, %tid] : !two
      memref.store %v, %y[%i, %tid] : !global
      scf.yield %u, %free : !async.token, index
    }
    async.await %last#0
    gpu.return
  }

  // After a loop of unknown trip count n, the numbers go on from n: what is loaded there is phase n + 1, on the same ring,
  // and what the loop left is phase n.
  //
  // CHECK-LABEL: gpu.func @epilogue
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index)
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  // CHECK: scf.for
  // CHECK: }
  // CHECK: %[[TRIPS:.*]] = arith.maxsi %[[N]], %c0 : index
  // CHECK: %[[AFTER:.*]] = arith.addi %[[TRIPS]], %c1 : index
  // CHECK: %[[FREE:.*]] = arith.remui %[[AFTER]], %c2 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%[[FREE]]]
  // CHECK: %[[FULL:.*]] = arith.remui %[[TRIPS]], %c2 : index
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]][%[[FULL]]]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[RING]][%[[FREE]]]
  //
  // EPILOGUE: epilogue: clean
  gpu.func @epilogue(%x: !global, %y: !global, %n: index) workgroup(%buf: !two) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !line
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
    // One more, and two rounds to go.
    %more = scf.for %i = %c0 to %c1 step %c1 iter_args(%t = %last) -> (!async.token) {
      %at = arith.addi %n, %c1 : index
      %free = arith.remui %at, %c2 : index
      %from = memref.subview %x[%at, 0] [1, 64] [1, 1] : !global to !line
      %to = memref.subview %buf[%free, 0] [1, 64] [1, 1] : !two to !row
      %u = gpux.bulk_load async %from, %to : !line to !row
      async.await %t
      %full = arith.remui %n, %c2 : index
      %v = memref.load %buf[%full, %tid] : !two
      memref.store %v, %y[%n, %tid] : !global
      scf.yield %u : !async.token
    }
    async.await %more
    gpu.return
  }
}
