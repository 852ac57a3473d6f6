// Two loads into one place keep their order. The second is issued by one thread, once all have come so far; where only some
// threads have waited for the first one, that thread need not have. So they meet before.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier --canonicalize --cse | FileCheck %s --check-prefix=WAR
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t
// RUN: async-opt %s --gpux-tokens-to-mbarriers=war=mbarrier -o %t.war
// RUN: async-sim %s --schedule=exhaustive | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t --schedule=exhaustive | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t.war --schedule=exhaustive | FileCheck %s --check-prefix=CLEAN

// CLEAN: one_thread_awaits: clean
// CLEAN: chosen_by_thread: clean
// CLEAN: yielded_by_thread: clean
// CLEAN: in_a_loop: clean
// CLEAN: stored: clean
// CLEAN: all_await: clean
// CLEAN: same_for_all: clean
// CLEAN: other_place: clean

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @one_thread_awaits
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK-NEXT: gpux.bulk_load
  //
  // The thread that issues waits until all have arrived, the one that waited among them.
  //
  // WAR-LABEL: gpu.func @one_thread_awaits
  // WAR: gpux.bulk_load
  // WAR: nvgpu.mbarrier.try_wait.parity
  // WAR-NEXT: }
  // WAR-NEXT: nvgpu.mbarrier.arrive %[[MET:.*]][%c0]
  // WAR-NEXT: scf.if
  // WAR-NEXT: nvgpu.mbarrier.try_wait.parity %[[MET]][%c0], %false
  // WAR-NEXT: nvgpu.mbarrier.arrive.expect_tx
  // WAR-NEXT: gpux.bulk_load
  gpu.func @one_thread_awaits(%x: !line, %z: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %one {
      async.await %t
    }
    %u = gpux.bulk_load async %z, %a : !line to !row
    async.await %u
    %v = memref.load %a[%tid] : !row
    memref.store %v, %y[%tid] : !line
    gpu.return
  }

  // All come by the await, and one of them has something to wait for.
  //
  // CHECK-LABEL: gpu.func @chosen_by_thread
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_load
  //
  // WAR-LABEL: gpu.func @chosen_by_thread
  // WAR: gpux.bulk_load
  // WAR: nvgpu.mbarrier.arrive %
  // WAR: gpux.bulk_load
  gpu.func @chosen_by_thread(%x: !line, %z: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    %none = async.ready
    %s = arith.select %one, %t, %none : !async.token
    async.await %s
    %u = gpux.bulk_load async %z, %a : !line to !row
    async.await %u
    %v = memref.load %a[%tid] : !row
    memref.store %v, %y[%tid] : !line
    gpu.return
  }

  // CHECK-LABEL: gpu.func @yielded_by_thread
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @yielded_by_thread(%x: !line, %z: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    %s = scf.if %one -> !async.token {
      scf.yield %t : !async.token
    } else {
      %none = async.ready
      scf.yield %none : !async.token
    }
    async.await %s
    %u = gpux.bulk_load async %z, %a : !line to !row
    async.await %u
    %v = memref.load %a[%tid] : !row
    memref.store %v, %y[%tid] : !line
    gpu.return
  }

  // The load of one iteration, and that of the next.
  //
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @in_a_loop(%x: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gpux.bulk_load async %x, %a : !line to !row
      scf.if %one {
        async.await %t
      }
    }
    gpu.return
  }

  // A store reads the place instead.
  //
  // CHECK-LABEL: gpu.func @stored
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.bulk_store
  gpu.func @stored(%x: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %one {
      async.await %t
    }
    %read, %done = gpux.bulk_store async %a, %y : !row to !line
    async.await %done
    gpu.return
  }

  // The thread that issues has waited itself.
  //
  // CHECK-LABEL: gpu.func @all_await
  // CHECK: gpux.bulk_load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @all_await(%x: !line, %z: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %u = gpux.bulk_load async %z, %a : !line to !row
    async.await %u
    gpu.return
  }

  // Blocks differ here, and threads of a block don't.
  //
  // CHECK-LABEL: gpu.func @same_for_all
  // CHECK: gpux.bulk_load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @same_for_all(%x: !line, %z: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %block = gpu.block_id x
    %first = arith.cmpi eq, %block, %c0 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %first {
      async.await %t
    }
    %u = gpux.bulk_load async %z, %a : !line to !row
    async.await %u
    gpu.return
  }

  // CHECK-LABEL: gpu.func @other_place
  // CHECK: gpux.bulk_load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @other_place(%x: !line, %z: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %one = arith.cmpi eq, %tid, %c1 : index
    %t = gpux.bulk_load async %x, %a : !line to !row
    scf.if %one {
      async.await %t
    }
    %u = gpux.bulk_load async %z, %b : !line to !row
    async.await %u
    gpu.return
  }
}
