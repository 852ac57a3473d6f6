// A load gets a phase of an mbarrier: one thread initializes it, says how many bytes will come, and issues; all threads
// wait for the phase; one thread takes the mbarrier away, when nobody can be waiting any more.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - --kernel=tile --schedule=exhaustive --arg 0=16x64:ramp --arg 1=64:zero --print | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - --kernel=line_awaited_twice | FileCheck %s --check-prefix=TWICE

!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!slot = memref<16x64xf32, #gpu.address_space<workgroup>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // 16 * 64 elements of 4 bytes are 4096 bytes. Phase 0 is waited for by parity 0.
  //
  // CHECK-LABEL: gpu.func @tile
  // CHECK-SAME: (%[[X:.*]]: !nvgpu.tensormap.descriptor<{{.*}}>, %{{.*}}: memref<64xf32>) workgroup(%[[BUF:[a-z0-9]+]] :
  // CHECK-DAG: %[[FALSE:.*]] = arith.constant false
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 4096 : index
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK: %[[LEADER:.*]] = gpux.elect
  // CHECK: %[[M:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  // CHECK-NEXT: nvgpu.mbarrier.init %[[M]][%[[C0]]], %[[C1]], predicate = %[[LEADER]]
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if %[[LEADER]] {
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[M]][%[[C0]]], %[[BYTES]] :
  // CHECK-NEXT: gpux.tma_load %[[X]][%[[C0]], %[[C0]]], %[[BUF]], %[[M]][%[[C0]]] :
  // CHECK-NEXT: }
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[M]][%[[C0]]], %[[FALSE]],
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if %[[LEADER]] {
  // CHECK-NEXT: %[[A:.*]] = nvgpu.mbarrier.get %[[M]][%[[C0]]]
  // CHECK-NEXT: %[[P:.*]] = llvm.inttoptr %[[A]] : i32 to !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.inval %[[P]]
  // CHECK-NEXT: }
  // CHECK-NEXT: memref.load %[[BUF]]
  //
  // CLEAN: tile: clean
  // CLEAN: argument 1: 0 1 2 3 4 5 6
  gpu.func @tile(%x: !tile, %y: memref<64xf32>) workgroup(%buf: !slot) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %tid = gpu.thread_id x
    %t = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    async.await %t
    %v = memref.load %buf[%c0, %tid] : !slot
    memref.store %v, %y[%tid] : memref<64xf32>
    gpu.return
  }

  // What has been waited for needs no second wait, neither as an await nor as a dependency of a copy.
  //
  // CHECK-LABEL: gpu.func @line_awaited_twice
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 256 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}}[%{{.*}}], %[[BYTES]]
  // CHECK-NEXT: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NOT: try_wait
  // CHECK: gpux.copy async %
  // CHECK-NOT: try_wait
  // CHECK: gpu.return
  //
  // TWICE: line_awaited_twice: clean
  gpu.func @line_awaited_twice(%x: !line, %y: !line) workgroup(%buf: !row, %other: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %buf : !line to !row
    async.await %t
    async.await %t
    %u = gpux.copy async [%t] %x[%tid], %other[%tid], 1 : !line to !row
    async.await %u
    gpu.return
  }

  // A load that depends on another is issued after the wait for it: two phases.
  //
  // CHECK-LABEL: gpu.func @after_another
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M0:.*]][%{{.*}}] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M0]][%{{.*}}], %false
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M1:.*]][%{{.*}}] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M1]][%{{.*}}]
  gpu.func @after_another(%x: !line) workgroup(%a: !row, %b: !row) kernel {
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async [%t] %x, %b : !line to !row
    async.await %u
    gpu.return
  }

  // A function without loads is left alone, whatever tokens it has.
  //
  // CHECK-LABEL: func.func @no_loads
  // CHECK-NEXT: async.await %{{.*}}
  // CHECK-NEXT: return
  func.func @no_loads(%t: !async.token) {
    async.await %t
    return
  }
}
