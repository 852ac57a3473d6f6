// Loads that are awaited together share a phase, whose bytes are added up.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - | FileCheck %s --check-prefix=CLEAN

!a = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!b = !nvgpu.tensormap.descriptor<tensor = memref<32x16xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!a_slot = memref<16x64xf32, #gpu.address_space<workgroup>>
!b_slot = memref<32x16xf16, #gpu.address_space<workgroup>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CLEAN: together: clean
  // CLEAN: joined: clean
  // CLEAN: apart: clean
  // CLEAN: several_boxes: clean
  // CLEAN: one_of_three: clean

  // 16 * 64 * 4 + 32 * 16 * 2 = 5120 bytes; one thread arrives, once.
  //
  // CHECK-LABEL: gpu.func @together
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 5120 : index
  // CHECK: nvgpu.mbarrier.create
  // CHECK-NOT: nvgpu.mbarrier.create
  // CHECK: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[M:.*]][%[[S:.*]]], %[[BYTES]] :
  // CHECK-NEXT: gpux.tma_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK-NEXT: gpux.tma_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK-NEXT: }
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[M]][%[[S]]]
  // CHECK-NOT: try_wait
  gpu.func @together(%x: !a, %y: !b) workgroup(%a: !a_slot, %b: !b_slot) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpux.tma_load async %x[%c0, %c0], %a : !a, !a_slot
    %u = gpux.tma_load async %y[%c0, %c0], %b : !b, !b_slot
    async.await %t, %u
    gpu.return
  }

  // A join that is awaited is the same. What lies between the loads stays between them.
  //
  // CHECK-LABEL: gpu.func @joined
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 512 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M:.*]][%[[S:.*]]], %[[BYTES]] :
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK: memref.store
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%[[S]]]
  // CHECK-NOT: try_wait
  gpu.func @joined(%x: !line, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    %t = gpux.bulk_load async %x, %a : !line to !row
    memref.store %one, %y[%tid] : !line
    %u = gpux.bulk_load async %x, %b : !line to !row
    %both = async.join %t, %u
    async.await %both
    gpu.return
  }

  // Awaited one after the other, they have a phase each: the second may still be on its way after the first await.
  //
  // CHECK-LABEL: gpu.func @apart
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 256 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M:.*]][%[[S:.*]]], %[[BYTES]] :
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[N:.*]][%[[S]]], %[[BYTES]] :
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[N]][%[[S]]] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[M]][%[[S]]]
  // CHECK: memref.load
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[N]][%[[S]]]
  gpu.func @apart(%x: !line, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async %x, %b : !line to !row
    async.await %t
    %v = memref.load %a[%tid] : !row
    memref.store %v, %y[%tid] : !line
    async.await %u
    gpu.return
  }

  // A destination of three boxes is one load here, and its bytes are those of all: 48 * 64 * 4.
  //
  // CHECK-LABEL: gpu.func @several_boxes
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 12288 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}}[%{{.*}}], %[[BYTES]] :
  // CHECK-NEXT: gpux.tma_load
  // CHECK-NOT: gpux.tma_load
  // CHECK: gpu.return
  gpu.func @several_boxes(%x: !a) workgroup(%a: memref<48x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpux.tma_load async %x[%c0, %c0], %a : !a, memref<48x64xf32, #gpu.address_space<workgroup>>
    async.await %t
    gpu.return
  }

  // What is awaited apart once is told apart: t and u together, v alone before.
  //
  // CHECK-LABEL: gpu.func @one_of_three
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 256 : index
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 512 : index
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[M:.*]][%[[S:.*]]], %[[TWO]] :
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[N:.*]][%[[S]]], %[[ONE]] :
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[N]][%[[S]]] :
  // CHECK-NEXT: gpux.bulk_load %{{.*}}, %{{.*}}, %[[M]][%[[S]]] :
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[N]][%[[S]]]
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[M]][%[[S]]]
  // CHECK-NOT: try_wait
  gpu.func @one_of_three(%x: !line) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    %v = gpux.bulk_load async %x, %b : !line to !row
    %u = gpux.bulk_load async %x, %c : !line to !row
    async.await %v
    async.await %t, %u, %v
    gpu.return
  }
}
