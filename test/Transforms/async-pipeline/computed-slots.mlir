// Slots that are worked out from the variable of the kernel, which is the number of an iteration: with two versions, a bit of it. After
// the kernel, they go on from its upper bound. Three versions would take a division, and another step, too: they are carried.
//
// RUN: async-opt %s --async-pipeline="short-trips=branch computed-slots" 2>/dev/null | FileCheck %s
// RUN: async-opt %s --async-pipeline="short-trips=guard computed-slots" 2>/dev/null | FileCheck %s --check-prefix=GUARD
// RUN: async-opt %s --async-pipeline="short-trips=branch computed-slots" -o %t.mlir 2>/dev/null
// RUN: async-opt %s --async-pipeline=short-trips=branch -o %t.carried.mlir 2>/dev/null
// RUN: async-sim %t.carried.mlir --kernel=two --arg 0=1280:random --arg 2=1 --out 1=%t.1.npy
// RUN: async-sim %t.mlir --kernel=two --arg 0=1280:random --arg 2=1 --out 1=%t.c1.npy | FileCheck %s --check-prefix=CLEAN
// RUN: cmp %t.1.npy %t.c1.npy
// RUN: async-sim %t.carried.mlir --kernel=two --arg 0=1280:random --arg 2=8 --out 1=%t.8.npy
// RUN: async-sim %t.mlir --schedule=exhaustive --kernel=two --arg 0=1280:random --arg 2=8 --out 1=%t.c8.npy | FileCheck %s --check-prefix=CLEAN
// RUN: cmp %t.8.npy %t.c8.npy

// CLEAN: two: clean

!tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // Of iteration i, the kernel uses the slot, and fills that of iteration i + 1.
  // CHECK-LABEL: gpu.func @two
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[END:.*]] step %{{.*}} iter_args(%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,]*}}) -> (!async.token, f32) {
  // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : index to i32
  // CHECK: %[[NEXT:.*]] = arith.addi %[[NUMBER]], %c1_i32
  // CHECK-NEXT: %[[FILLED:.*]] = arith.andi %[[NEXT]], %c1_i32
  // CHECK: arith.muli %[[FILLED]], %c512_i32
  // CHECK: gpux.copy async
  // CHECK: scf.yield
  // CHECK: %[[LAST:.*]] = arith.index_cast %[[END]] : index to i32
  // CHECK: arith.addi %[[LAST]], %c1_i32
  // GUARD-LABEL: gpu.func @two
  // GUARD: scf.for {{.*}} -> (!async.token, f32, i32)
  gpu.func @two(%in: memref<?xf32>, %out: memref<128xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c127 = arith.constant 127 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %s = memref.alloc() : !tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %s[%t], 1 : memref<?xf32> to !tile
      async.await %token
      %v = memref.load %s[%mirrored] : !tile
      %more = arith.addf %acc, %v : f32
      scf.yield %more : f32
    } {async.num_stages = 2}
    memref.store %sum, %out[%t] : memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @three
  // CHECK: scf.for {{.*}} -> (!async.token, !async.token, f32, i32)
  gpu.func @three(%in: memref<?xf32>, %out: memref<128xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c127 = arith.constant 127 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %s = memref.alloc() : !tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = arith.muli %i, %c128 : index
      %from = arith.addi %first, %t : index
      %token = gpux.copy async %in[%from], %s[%t], 1 : memref<?xf32> to !tile
      async.await %token
      %v = memref.load %s[%mirrored] : !tile
      %more = arith.addf %acc, %v : f32
      scf.yield %more : f32
    } {async.num_stages = 3}
    memref.store %sum, %out[%t] : memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @other_step
  // CHECK: scf.for {{.*}} -> (!async.token, f32, i32)
  gpu.func @other_step(%in: memref<?xf32>, %out: memref<128xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c127 = arith.constant 127 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %end = arith.muli %n, %c128 : index
    %s = memref.alloc() : !tile
    %sum = scf.for %i = %c0 to %end step %c128 iter_args(%acc = %zero) -> (f32) {
      %from = arith.addi %i, %t : index
      %token = gpux.copy async %in[%from], %s[%t], 1 : memref<?xf32> to !tile
      async.await %token
      %v = memref.load %s[%mirrored] : !tile
      %more = arith.addf %acc, %v : f32
      scf.yield %more : f32
    } {async.num_stages = 2}
    memref.store %sum, %out[%t] : memref<128xf32>
    gpu.return
  }
}
