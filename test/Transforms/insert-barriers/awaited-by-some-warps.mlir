// Loads that all threads begin together, and that each warp awaits for itself: who has awaited another load of the same operation does not
// know that this one is complete.
//
// RUN: async-opt %s --gpux-insert-barriers -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %t --block=96 --arg 2=3 | FileCheck %s --check-prefix=CLEAN
// CLEAN: merged: clean
// CLEAN: learned: clean
// CLEAN: masked: clean

!in = memref<4x32xf32>
!rows = memref<4x32xf32, #gpu.address_space<workgroup>>
!in_row = memref<32xf32, strided<[1], offset: ?>>
!row = memref<32xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Warps await a load of each iteration, but for the last one.
  // CHECK-LABEL: gpu.func @merged
  // CHECK: gpu.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: memref.load
  gpu.func @merged(%in: !in, %out: memref<96xf32>, %n: index) workgroup(%s: !rows)
      kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi eq, %warp, %c0 : index
    %two = arith.cmpi ult, %warp, %c2 : index
    %second = arith.cmpi eq, %warp, %c1 : index
    %from0 = memref.subview %in[0, 0] [1, 32] [1, 1] : !in to memref<32xf32>
    %to0 = memref.subview %s[0, 0] [1, 32] [1, 1] : !rows to memref<32xf32, #gpu.address_space<workgroup>>
    %load = gpux.bulk_load async %from0, %to0 : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %load) -> (!async.token) {
      scf.if %two {
        async.await %before
      }
      %row = arith.addi %i, %c1 : index
      %from = memref.subview %in[%row, 0] [1, 32] [1, 1] : !in to !in_row
      %to = memref.subview %s[%row, 0] [1, 32] [1, 1] : !rows to !row
      %next = gpux.bulk_load async %from, %to : !in_row to !row
      scf.yield %next : !async.token
    }
    scf.if %first {
      async.await %last
    }
    scf.if %second {
      %x = memref.load %s[%n, %c0] : !rows
      memref.store %x, %out[%t] : memref<96xf32>
      async.await %last
    }
    gpu.return
  }

  // A warp that reads what another one has awaited has itself awaited the load before.
  // CHECK-LABEL: gpu.func @learned
  // CHECK: gpu.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: async.await
  // CHECK-NEXT: memref.load
  gpu.func @learned(%in: !in, %out: memref<96xf32>, %n: index) workgroup(%s: !rows)
      kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi eq, %warp, %c0 : index
    %second = arith.cmpi eq, %warp, %c1 : index
    %from0 = memref.subview %in[0, 0] [1, 32] [1, 1] : !in to memref<32xf32>
    %to0 = memref.subview %s[0, 0] [1, 32] [1, 1] : !rows to memref<32xf32, #gpu.address_space<workgroup>>
    %load = gpux.bulk_load async %from0, %to0 : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%before = %load, %two = %load) -> (!async.token, !async.token) {
      %row = arith.addi %i, %c1 : index
      %from = memref.subview %in[%row, 0] [1, 32] [1, 1] : !in to !in_row
      %to = memref.subview %s[%row, 0] [1, 32] [1, 1] : !rows to !row
      %next = gpux.bulk_load async %from, %to : !in_row to !row
      scf.yield %next, %before : !async.token, !async.token
    }
    scf.if %first {
      async.await %last#0
      async.await %last#1
    }
    scf.if %second {
      async.await %last#1
      %x = memref.load %s[%n, %c0] : !rows
      memref.store %x, %out[%t] : memref<96xf32>
      async.await %last#0
    }
    gpu.return
  }

  // The row that is written is none that is loaded, whatever the number.
  // CHECK-LABEL: gpu.func @masked
  // CHECK-NOT: gpu.barrier
  gpu.func @masked(%in: !in, %out: memref<96xf32>, %n: index) workgroup(%s: memref<5x32xf32, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi eq, %warp, %c0 : index
    %second = arith.cmpi eq, %warp, %c1 : index
    %from = memref.subview %in[0, 0] [1, 32] [1, 1] : !in to memref<32xf32>
    %to = memref.subview %s[4, 0] [1, 32] [1, 1]
        : memref<5x32xf32, #gpu.address_space<workgroup>> to memref<32xf32, strided<[1], offset: 128>, #gpu.address_space<workgroup>>
    %load = gpux.bulk_load async %from, %to
        : memref<32xf32> to memref<32xf32, strided<[1], offset: 128>, #gpu.address_space<workgroup>>
    scf.if %first {
      async.await %load
    }
    %row = arith.andi %n, %c3 : index
    %after = arith.addi %row, %c1 : index
    %next = arith.andi %after, %c3 : index
    scf.if %second {
      %lane = arith.subi %t, %c32 : index
      memref.store %zero, %s[%next, %lane] : memref<5x32xf32, #gpu.address_space<workgroup>>
      %x = memref.load %s[%next, %lane] : memref<5x32xf32, #gpu.address_space<workgroup>>
      memref.store %x, %out[%t] : memref<96xf32>
      async.await %load
    }
    gpu.return
  }
}
