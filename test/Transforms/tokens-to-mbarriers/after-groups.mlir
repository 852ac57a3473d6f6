// Groups may be counted first, and phases then: the result is as correct as the other way around.
//
// RUN: async-opt %s --gpux-tokens-to-groups --gpux-tokens-to-mbarriers --cse -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %t --arg 0=64:random --arg 1=64:zero | FileCheck %s --check-prefix=CLEAN

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The load needs a fence and a barrier for what was written; it does not come with them while it has a token, so the store
  // has its own.
  //
  // CHECK-LABEL: gpu.func @store_behind_a_load
  // CHECK: memref.store
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.bulk_load
  // CHECK: nvvm.fence.proxy
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpux.bulk_store
  //
  // CLEAN: store_behind_a_load: clean
  gpu.func @store_behind_a_load(%x: !line, %y: !line, %v: f32) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    memref.store %v, %b[%tid] : !row
    memref.store %v, %a[%tid] : !row
    %loaded = gpux.bulk_load async %x, %a : !line to !row
    %read, %done = gpux.bulk_store async %b, %y : !row to !line
    async.await %loaded, %read
    gpu.return
  }

  // The one value that says who issues is there for both, before the first use.
  //
  // CHECK-LABEL: gpu.func @asked_behind_a_load
  // CHECK: %[[LEADER:.*]] = gpux.elect
  // CHECK-NOT: gpux.elect
  // CHECK: scf.if %[[LEADER]]
  // CHECK: gpux.bulk_load
  // CHECK: scf.if %[[LEADER]]
  // CHECK: memref.store
  //
  // CLEAN: asked_behind_a_load: clean
  gpu.func @asked_behind_a_load(%x: !line, %y: !line, %v: f32) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %loaded = gpux.bulk_load async %x, %a : !line to !row
    %leader = gpux.elect
    scf.if %leader {
      memref.store %v, %y[%c0] : !line
    }
    async.await %loaded
    gpu.return
  }
}
