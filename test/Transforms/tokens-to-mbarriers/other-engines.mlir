// Tokens of other engines stay, and so do their awaits: another pass translates them.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --cse | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t
// RUN: async-sim %t --kernel=awaited_together | FileCheck %s --check-prefix=TOGETHER
// RUN: async-sim %t --kernel=joined | FileCheck %s --check-prefix=JOINED
// RUN: async-sim %t --kernel=around_a_loop --arg 0=8x64:random --arg 1=5 | FileCheck %s --check-prefix=LOOP
// RUN: async-sim %t --kernel=stored --arg 0=8x64:random --arg 1=8x64:zero --arg 2=5 | FileCheck %s --check-prefix=STORED

!global = memref<?x64xf32>
!at = memref<64xf32, strided<[1], offset: ?>>
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @awaited_together
  // CHECK: gpux.bulk_load
  // CHECK: %[[COPY:.*]] = gpux.copy async
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: async.await %[[COPY]]
  // CHECK-NOT: async.await
  //
  // TOGETHER: awaited_together: clean
  gpu.func @awaited_together(%x: !line, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.copy async %x[%tid], %b[%tid], 1 : !line to !row
    async.await %t, %u
    %v = memref.load %a[%tid] : !row
    %w = memref.load %b[%tid] : !row
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %y[%tid] : !line
    gpu.return
  }

  // CHECK-LABEL: gpu.func @joined
  // CHECK: gpux.bulk_load
  // CHECK: %[[COPY:.*]] = gpux.copy async
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: async.await
  //
  // JOINED: joined: clean
  gpu.func @joined(%x: !line, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %tid = gpu.thread_id x
    %t = gpux.bulk_load async %x, %a : !line to !row
    %u = gpux.copy async %x[%tid], %b[%tid], 1 : !line to !row
    %both = async.join %t, %u
    async.await %both
    %v = memref.load %a[%tid] : !row
    %w = memref.load %b[%tid] : !row
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %y[%tid] : !line
    gpu.return
  }

  // A join of both that is handed around a loop: what is left of it is the copy's token, next to the count of phases where
  // there is one.
  //
  // CHECK-LABEL: gpu.func @around_a_loop
  // CHECK: scf.for %{{.*}} iter_args(%[[T:.*]] = %{{.*}}) -> (!async.token) {
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: async.await %[[T]]
  // CHECK: gpux.bulk_load
  // CHECK: %[[COPY:.*]] = gpux.copy async
  // CHECK: scf.yield
  //
  // LOOP: around_a_loop: clean
  gpu.func @around_a_loop(%x: !global, %n: index, %y: !line) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tid = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 64] [1, 1] : !global to !at
    %t0 = gpux.bulk_load async %from0, %a : !at to !row
    %u0 = gpux.copy async %x[%c0, %tid], %b[%tid], 1 : !global to !row
    %both0 = async.join %t0, %u0
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %both0) -> (!async.token) {
      async.await %before
      %v = memref.load %a[%tid] : !row
      %w = memref.load %b[%tid] : !row
      %sum = arith.addf %v, %w : f32
      memref.store %sum, %y[%tid] : !line
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %t = gpux.bulk_load async %from, %a : !at to !row
      %u = gpux.copy async %x[%i, %tid], %b[%tid], 1 : !global to !row
      %both = async.join %t, %u
      scf.yield %both : !async.token
    }
    async.await %last
    gpu.return
  }

  // A store of what has been loaded, whose source may be overwritten when it has been read.
  //
  // CHECK-LABEL: gpu.func @stored
  // CHECK: scf.for
  // CHECK: gpux.bulk_load
  // CHECK: nvgpu.mbarrier.try_wait.parity
  // CHECK: %[[READ:.*]], %{{.*}} = gpux.bulk_store async
  // CHECK: async.await %[[READ]]
  // CHECK: }
  //
  // STORED: stored: clean
  gpu.func @stored(%x: !global, %y: !global, %n: index) workgroup(%a: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !global to !at
      %t = gpux.bulk_load async %from, %a : !at to !row
      async.await %t
      %to = memref.subview %y[%i, 0] [1, 64] [1, 1] : !global to !at
      %read, %done = gpux.bulk_store async %a, %to : !row to !at
      async.await %read
    }
    gpu.return
  }
}
