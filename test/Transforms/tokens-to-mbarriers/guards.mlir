// One thread issues for all. So before a load, all threads must be done with what it overwrites (a barrier), and what they
// wrote through the generic proxy must not come after it (a fence, before the barrier).
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --canonicalize --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %s --gpux-tokens-to-mbarriers=fence-reads=true --canonicalize --cse | FileCheck %s --check-prefix=READS
// RUN: async-opt %s --gpux-tokens-to-mbarriers=fence-reads=true | async-sim - --strict-proxies | FileCheck %s --check-prefix=CLEAN

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CLEAN: first_load: clean
  // CLEAN: after_reads: clean
  // CLEAN: after_writes: clean
  // CLEAN: after_copies: clean
  // CLEAN: other_buffer: clean
  // CLEAN: behind_a_load: clean
  // CLEAN: own_barrier: clean
  // CLEAN: own_fence: clean
  // CLEAN: around_a_loop: clean
  // CLEAN: two_loads: clean
  // CLEAN: behind_a_store: clean
  // CLEAN: after_writes_through_a_cast: clean

  // Nothing has been touched: the barrier after the initialization is all there is.
  //
  // CHECK-LABEL: gpu.func @first_load
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx
  gpu.func @first_load(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }

  // Another thread may still read: a barrier. Reads need no fence, unless one is asked for.
  //
  // CHECK-LABEL: gpu.func @after_reads
  // CHECK: memref.load
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx
  // READS-LABEL: gpu.func @after_reads
  // READS: memref.load
  // READS: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // READS-NEXT: gpu.barrier
  // READS-NEXT: scf.if
  // READS-NEXT: nvgpu.mbarrier.arrive.expect_tx
  gpu.func @after_reads(%x: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %v = memref.load %a[%tid] : !row
    memref.store %v, %y[%tid] : !line
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }

  // CHECK-LABEL: gpu.func @after_writes
  // CHECK: memref.store
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT: gpu.barrier
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @after_writes(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    memref.store %one, %a[%tid] : !row
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }

  // cp.async writes through the generic proxy, when it is complete.
  //
  // CHECK-LABEL: gpu.func @after_copies
  // CHECK: async.await
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK: nvgpu.mbarrier.arrive.expect_tx
  gpu.func @after_copies(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.copy async %x[%tid], %a[%tid], 1 : !line to !row
    async.await %t
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }

  // What is written to another buffer does not matter.
  //
  // CHECK-LABEL: gpu.func @other_buffer
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: nvgpu.mbarrier.try_wait.parity
  gpu.func @other_buffer(%x: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    memref.store %one, %b[%tid] : !row
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }

  // What a load wrote has been awaited, and nobody has touched it since: neither barrier nor fence.
  //
  // CHECK-LABEL: gpu.func @behind_a_load
  // CHECK: gpux.bulk_load
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpux.bulk_load
  // READS-LABEL: gpu.func @behind_a_load
  // READS: gpux.bulk_load
  // READS-NOT: nvvm.fence.proxy
  // READS: gpux.bulk_load
  gpu.func @behind_a_load(%x: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %u = gpux.bulk_load async %y, %a : !line to !row
    async.await %u
    gpu.return
  }

  // The program's own barrier does.
  //
  // CHECK-LABEL: gpu.func @own_barrier
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @own_barrier(%x: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %v = memref.load %a[%tid] : !row
    memref.store %v, %y[%tid] : !line
    gpu.barrier
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }

  // So does its own fence, with a barrier after.
  //
  // CHECK-LABEL: gpu.func @own_fence
  // CHECK: memref.load
  // CHECK: memref.store %{{.*}}, %arg2[
  // CHECK-COUNT-1: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpux.bulk_load
  gpu.func @own_fence(%x: !line, %y: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    %v = memref.load %a[%tid] : !row
    memref.store %v, %a[%tid] : !row
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }

  // The write of one iteration is before the load of the next.
  //
  // CHECK-LABEL: gpu.func @around_a_loop
  // CHECK: scf.for
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.bulk_load
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: memref.store
  // CHECK-NEXT: }
  gpu.func @around_a_loop(%x: !line) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %tid = gpu.thread_id x
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gpux.bulk_load async %x, %a : !line to !row
      async.await %t
      %v = memref.load %a[%tid] : !row
      memref.store %v, %a[%tid] : !row
    }
    gpu.return
  }

  // One fence and one barrier do for both.
  //
  // CHECK-LABEL: gpu.func @two_loads
  // CHECK-COUNT-2: memref.store
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpux.bulk_load
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpux.bulk_load
  gpu.func @two_loads(%x: !line, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %one = arith.constant 1.0 : f32
    memref.store %one, %a[%tid] : !row
    memref.store %one, %b[%tid] : !row
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.bulk_load async %y, %b : !line to !row
    async.await %t
    async.await %u
    gpu.return
  }

  // A store that is in token form still has a fence and a barrier before it, which do for the load, too.
  //
  // CHECK-LABEL: gpu.func @behind_a_store
  // CHECK: memref.store
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: gpux.bulk_store async
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpux.bulk_load
  // CHECK-NOT: nvvm.fence.proxy
  // CHECK: gpu.return
  gpu.func @behind_a_store(%x: !line, %y: !line, %v: f32) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    memref.store %v, %a[%tid] : !row
    memref.store %v, %b[%tid] : !row
    %read, %done = gpux.bulk_store async %b, %y : !row to !line
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t, %done
    gpu.return
  }

  // Workgroup memory may be reached through other memory spaces.
  //
  // CHECK-LABEL: gpu.func @after_writes_through_a_cast
  // CHECK: memref.store
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.bulk_load
  gpu.func @after_writes_through_a_cast(%x: !line, %v: f32) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %generic = memref.memory_space_cast %a : !row to !line
    memref.store %v, %generic[%tid] : !line
    %t = gpux.bulk_load async %x, %a : !line to !row
    async.await %t
    gpu.return
  }
}
