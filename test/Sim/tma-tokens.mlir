// Tiles in token form: all threads of the block come to a load, which is issued once. A thread that has awaited it may read
// what it has brought.
//
// RUN: async-sim %s --kernel=ring --arg 0=1024x64:random --schedule=exhaustive | FileCheck %s --check-prefix=RING
// RUN: not async-sim %s --kernel=unawaited --arg 0=64x64:random | FileCheck %s --check-prefix=UNAWAITED
// RUN: not async-sim %s --kernel=one_awaits --arg 0=64x64:random | FileCheck %s --check-prefix=ONE
// RUN: async-sim %s --kernel=one_awaits_and_all_meet | FileCheck %s --check-prefix=MEET
// RUN: not async-sim %s --kernel=slot_too_early --arg 0=256x64:random | FileCheck %s --check-prefix=EARLY
// RUN: async-sim %s --kernel=behind_what_all_did | FileCheck %s --check-prefix=BEHIND
// RUN: not async-sim %s --kernel=no_barrier | FileCheck %s --check-prefix=NO-BARRIER
// RUN: not async-sim %s --kernel=divergent | FileCheck %s --check-prefix=DIVERGENT
// RUN: not async-sim %s --kernel=other_slots | FileCheck %s --check-prefix=OPERANDS
// RUN: async-sim %s --kernel=never_awaited | FileCheck %s --check-prefix=NEVER
// RUN: not async-sim %s --kernel=stored_to_global | FileCheck %s --check-prefix=GLOBAL
// RUN: async-sim %s --kernel=joins_of_joins --arg 1=200 | FileCheck %s --check-prefix=JOINS

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!slot = memref<64x64xf16, #gpu.address_space<workgroup>>
!at = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!slots = memref<3x64x64xf16, #gpu.address_space<workgroup>>

gpu.module @tokens {
  func.func private @slot(%buf: !slots, %i: index) -> !at {
    %c3 = arith.constant 3 : index
    %s = arith.remui %i, %c3 : index
    %at = memref.subview %buf[%s, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !at
    return %at : !at
  }

  // Thread t sums up column t.
  func.func private @column(%from: !at) -> f16 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f16
    %t = gpu.thread_id x
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f16 {
      %x = memref.load %from[%i, %t] : !at
      %next = arith.addf %sum, %x : f16
      scf.yield %next : f16
    }
    return %sum : f16
  }

  // RING: ring: clean (1 run, which stands for every schedule, of 1 block of 64 threads
  gpu.func @ring(%x: !tile, %y: memref<16x64xf16>) workgroup(%buf: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c14 = arith.constant 14 : index
    %c15 = arith.constant 15 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %s0 = func.call @slot(%buf, %c0) : (!slots, index) -> !at
    %s1 = func.call @slot(%buf, %c1) : (!slots, index) -> !at
    %first = gpux.tma_load async %x[%c0, %c0], %s0 : !tile, !at
    %second = gpux.tma_load async %x[%c64, %c0], %s1 : !tile, !at
    %last:2 = scf.for %i = %c0 to %c14 step %c1 iter_args(%t0 = %first, %t1 = %second) -> (!async.token, !async.token) {
      async.await %t0
      %ahead = arith.addi %i, %c2 : index
      %free = func.call @slot(%buf, %ahead) : (!slots, index) -> !at
      %row = arith.muli %ahead, %c64 : index
      %t2 = gpux.tma_load async %x[%row, %c0], %free : !tile, !at
      %full = func.call @slot(%buf, %i) : (!slots, index) -> !at
      %sum = func.call @column(%full) : (!at) -> f16
      memref.store %sum, %y[%i, %t] : memref<16x64xf16>
      scf.yield %t1, %t2 : !async.token, !async.token
    }
    async.await %last#0
    %s14 = func.call @slot(%buf, %c14) : (!slots, index) -> !at
    %sum14 = func.call @column(%s14) : (!at) -> f16
    memref.store %sum14, %y[%c14, %t] : memref<16x64xf16>
    async.await %last#1
    %s15 = func.call @slot(%buf, %c15) : (!slots, index) -> !at
    %sum15 = func.call @column(%s15) : (!at) -> f16
    memref.store %sum15, %y[%c15, %t] : memref<16x64xf16>
    gpu.return
  }

  // UNAWAITED: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // UNAWAITED: against: gpux.tma_load at {{.*}}, thread 0 of block 0
  // UNAWAITED: on: bytes 0 to 1 of
  gpu.func @unawaited(%x: !tile) workgroup(%buf: !slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    %v = memref.load %buf[%c0, %c0] : !slot
    gpu.return
  }

  // What one thread has seen, another has not.
  // ONE: error: RAW race: memref.load reads what a bulk copy has written, and this thread has not seen that it is complete
  // ONE-NEXT: this: thread 1 of block 0
  // ONE: help: wait for the copy in this thread, too, or put a gpu.barrier after another thread's wait
  gpu.func @one_awaits(%x: !tile) workgroup(%buf: !slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    scf.if %first {
      async.await %token
    }
    %v = memref.load %buf[%c0, %c0] : !slot
    gpu.return
  }

  // MEET: one_awaits_and_all_meet: clean
  gpu.func @one_awaits_and_all_meet(%x: !tile) workgroup(%buf: !slot) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    scf.if %first {
      async.await %token
    }
    gpu.barrier
    %v = memref.load %buf[%c0, %c0] : !slot
    gpu.return
  }

  // EARLY: error: WAW race: gpux.tma_load copies to where another asynchronous copy may still write
  gpu.func @slot_too_early(%x: !tile) workgroup(%buf: !slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    %b = gpux.tma_load async %x[%c64, %c0], %buf : !tile, !slot
    async.await %a, %b
    gpu.return
  }

  // It starts after what any thread did before: no barrier and no fence is needed.
  // BEHIND: behind_what_all_did: clean
  gpu.func @behind_what_all_did(%x: !tile, %y: !tile) workgroup(%buf: !slot) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f16
    %ones = arith.constant dense<1.0> : vector<64xf16>
    %t = gpu.thread_id x
    vector.store %ones, %buf[%t, %c0] : !slot, vector<64xf16>
    %read, %done = gpux.tma_store async %buf, %y[%c0, %c0] : !slot, !tile
    async.await %read
    %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    async.await %token, %done
    memref.store %one, %buf[%t, %c0] : !slot
    gpu.return
  }

  // It is no barrier.
  // NO-BARRIER: error: RAW race: memref.load reads what another thread wrote, and no block barrier lies between
  gpu.func @no_barrier(%x: !tile) workgroup(%buf: !slot, %other: memref<64xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %one = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    memref.store %one, %other[%t] : memref<64xf16, #gpu.address_space<workgroup>>
    %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    async.await %token
    %u = arith.subi %c63, %t : index
    %v = memref.load %other[%u] : memref<64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // DIVERGENT: error: gpux.tma_load: this is an operation of the whole block, and some of its threads have ended
  gpu.func @divergent(%x: !tile) workgroup(%buf: !slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %c = arith.cmpi ult, %t, %c32 : index
    scf.if %c {
      %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
      async.await %token
    }
    gpu.return
  }

  // OPERANDS: error: gpux.tma_load: this is an operation of the whole block, and its threads have different operands
  gpu.func @other_slots(%x: !tile) workgroup(%buf: !slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %token = gpux.tma_load async %x[%t, %t], %buf : !tile, !slot
    async.await %token
    gpu.return
  }

  // The lowering waits for it before the kernel ends.
  // NEVER: note: gpux.tma_load: the kernel ends and nobody has awaited this
  // NEVER: never_awaited: clean
  gpu.func @never_awaited(%x: !tile) workgroup(%buf: !slot) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
    gpu.return
  }

  // The start of a load comes after what other threads did to memory of the workgroup, and to no other.
  // GLOBAL: RAW race: gpux.bulk_load reads what another thread wrote
  // GLOBAL: stored_to_global: not clean
  gpu.func @stored_to_global(%x: memref<64xf16>) workgroup(%a: memref<64xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = arith.constant 1.0 : f16
    memref.store %v, %x[%t] : memref<64xf16>
    %token = gpux.bulk_load async %x, %a : memref<64xf16> to memref<64xf16, #gpu.address_space<workgroup>>
    async.await %token
    gpu.return
  }

  // A token stands for each copy once, however often it was joined.
  // JOINS: joins_of_joins: clean
  gpu.func @joins_of_joins(%x: memref<64xf16>, %n: index) workgroup(%a: memref<64xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpux.bulk_load async %x, %a : memref<64xf16> to memref<64xf16, #gpu.address_space<workgroup>>
    %all:2 = scf.for %i = %c0 to %n step %c1 iter_args(%b = %t, %c = %t) -> (!async.token, !async.token) {
      %one = async.join %b, %c
      %two = async.join %one, %c
      scf.yield %one, %two : !async.token, !async.token
    }
    async.await %all#0
    gpu.return
  }
}
