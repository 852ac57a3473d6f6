// Warps have roles where loads name the warp that issues them: warp 4 issues, warps 0 to 3 use what is loaded. All run the loop with
// the loads in it. Only the consumers wait for a load, and only they arrive before the next one into its slot, 128 threads of
// 256; only the issuing thread waits for them.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --split-input-file | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-split-roles --canonicalize --split-input-file | FileCheck %s --check-prefix=SPLIT

!line = memref<64xf32>
!slots = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @ring
// CHECK-SAME: gpux.roles
// CHECK: %[[LEADER:.*]] = gpux.elect {warp = 4 : i32}
// CHECK: %[[FULL:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
// CHECK-NEXT: nvgpu.mbarrier.init %[[FULL]][%c0], %c1, predicate = %[[LEADER]]
// CHECK-NEXT: nvgpu.mbarrier.init %[[FULL]][%c1], %c1, predicate = %[[LEADER]]
// CHECK-NEXT: %[[EMPTY:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
// CHECK-NEXT: nvgpu.mbarrier.init %[[EMPTY]][%c0], %c128, predicate = %[[LEADER]]
// CHECK-NEXT: nvgpu.mbarrier.init %[[EMPTY]][%c1], %c128, predicate = %[[LEADER]]
// CHECK: gpu.barrier
// The two loads before the loop: nobody has used what they overwrite.
// CHECK-NOT: nvgpu.mbarrier.arrive %
// CHECK: scf.for
// CHECK: nvgpu.mbarrier.try_wait.parity %[[FULL]]
// CHECK: memref.load
// CHECK: scf.if
// CHECK-NEXT: nvgpu.mbarrier.arrive %[[EMPTY]]
// CHECK: scf.if %[[LEADER]]
// CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[EMPTY]]
// CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx
// CHECK-NEXT: gpux.bulk_load
// CHECK-NOT: gpu.barrier
// CHECK-NOT: nvvm.mbarrier.inval
// CHECK: gpu.return

// In code of their own, consumers have a wait and an arrival for each step, and the issuing warp a wait, an expectation and a load.
// SPLIT-LABEL: gpu.func @ring
// SPLIT-NOT: gpux.roles
// SPLIT: gpu.barrier
// SPLIT: scf.if
// SPLIT: scf.for
// SPLIT-NOT: scf.if
// SPLIT: nvgpu.mbarrier.try_wait.parity
// SPLIT: memref.load
// SPLIT: nvgpu.mbarrier.arrive %
// SPLIT-NEXT: scf.yield
// SPLIT-COUNT-2: nvgpu.mbarrier.try_wait.parity
// SPLIT-NOT: {{nvgpu.mbarrier.[a-z]|gpux}}
// SPLIT: else
// SPLIT: scf.for
// SPLIT-NOT: {{memref.load|scf.yield}}
// SPLIT: scf.if %leader
// SPLIT-NEXT: nvgpu.mbarrier.try_wait.parity
// SPLIT-NEXT: nvgpu.mbarrier.arrive.expect_tx
// SPLIT-NEXT: gpux.bulk_load
// SPLIT-NOT: {{mbarrier.arrive|mbarrier.try_wait|gpu.barrier}}
// SPLIT: gpu.return
gpu.module @roles {
  gpu.func @ring(%x: memref<?x64xf32>, %out: memref<?xf32>, %n: index) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %c128 = arith.constant 128 : index
    %tid = gpu.thread_id x
    %consumes = arith.cmpi ult, %tid, %c128 : index
    %lane = arith.andi %tid, %c63 : index
    %x0 = memref.subview %x[0, 0] [1, 64] [1, 1] : memref<?x64xf32> to !line
    %x1 = memref.subview %x[1, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: 64>>
    %s0 = memref.subview %slots[0, 0] [1, 64] [1, 1] : !slots to memref<64xf32, #gpu.address_space<workgroup>>
    %s1 = memref.subview %slots[1, 0] [1, 64] [1, 1] : !slots to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
    %t0 = gpux.bulk_load async %x0, %s0 {issuer = 4 : i32} : !line to memref<64xf32, #gpu.address_space<workgroup>>
    %t1 = gpux.bulk_load async %x1, %s1 {issuer = 4 : i32} : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
    %zero = arith.constant 0.0 : f32
    %sum, %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %first = %t0, %second = %t1) -> (f32, !async.token, !async.token) {
      %k = arith.andi %i, %c1 : index
      %slot = memref.subview %slots[%k, 0] [1, 64] [1, 1] : !slots to !slot
      %more = scf.if %consumes -> (f32) {
        async.await %first
        %v = memref.load %slot[%lane] : !slot
        %add = arith.addf %s, %v : f32
        scf.yield %add : f32
      } else {
        scf.yield %s : f32
      }
      %j = arith.addi %i, %c2 : index
      %next = memref.subview %x[%j, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      %t = gpux.bulk_load async %next, %slot {issuer = 4 : i32} : memref<64xf32, strided<[1], offset: ?>> to !slot
      scf.yield %more, %second, %t : f32, !async.token, !async.token
    }
    scf.if %consumes {
      async.await %a, %b
      memref.store %sum, %out[%tid] : memref<?xf32>
    }
    gpu.return
  }
}
