// What nobody has written is reported where it is read, with the copy that comes nearest to it.
//
// RUN: not async-sim %s --kernel=forgotten --block=32 | FileCheck %s --check-prefix=FORGOTTEN
// RUN: not async-sim %s --kernel=halo --block=32 | FileCheck %s --check-prefix=HALO
// RUN: async-sim %s --kernel=whole_halo --block=34 | FileCheck %s --check-prefix=WHOLE
// RUN: not async-sim %s --kernel=accumulator | FileCheck %s --check-prefix=PRIVATE
// RUN: not async-sim %s --kernel=fresh_global | FileCheck %s --check-prefix=GLOBAL
// RUN: not async-sim %s --kernel=passed_on --block=32 | FileCheck %s --check-prefix=PASSED
// RUN: not async-sim %s --kernel=missing_barrier --block=32 | FileCheck %s --check-prefix=BARRIER
// RUN: not async-sim %s --kernel=missing_barrier_of_two --block=32 | FileCheck %s --check-prefix=TWO
// RUN: not async-sim %s --kernel=beside_a_race --block=32 | FileCheck %s --check-prefix=BESIDE
// RUN: not async-sim %s --kernel=parameter | FileCheck %s --check-prefix=PARAMETER
// RUN: async-sim %s --kernel=parameter --arg 0=ramp | FileCheck %s --check-prefix=GIVEN
// RUN: not async-sim %s --kernel=halo --block=32 --json | FileCheck %s --check-prefix=JSON

!src = memref<64xf32>
!rows = memref<2x32xf32, #gpu.address_space<workgroup>>
!halo = memref<34xf32, #gpu.address_space<workgroup>>

memref.global "private" @fresh : memref<4xf32> = uninitialized

// One row of two is copied.
// FORGOTTEN: [[#@LINE+15]]:8: error: uninitialized read: memref.load reads memory that nothing has written
// FORGOTTEN-NEXT: this: thread 0 of block 0
// FORGOTTEN-NEXT: nearest: gpux.copy at {{.*}}uninitialized-reads.mlir:[[#@LINE+9]]:11, thread 31 of block 0
// FORGOTTEN-NEXT: on: bytes 128 to 131 of workgroup buffer %rows (from element [1, 0] on) the first time; 124 bytes in later accesses
// FORGOTTEN-NEXT: help:
// FORGOTTEN-NEXT: forgotten: not clean
func.func @forgotten(%src: !src, %dst: !src) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu.thread_id x
  %rows = memref.alloc() : !rows
  %copy = gpux.copy async %src[%t], %rows[%c0, %t], 1 : !src to !rows
  async.await %copy
  gpu.barrier
  %x = memref.load %rows[%c0, %t] : !rows
  %y = memref.load %rows[%c1, %t] : !rows
  %sum = arith.addf %x, %y : f32
  memref.store %sum, %dst[%t] : !src
  return
}

// Each thread copies one element, and the last one reads two more.
// HALO: error: uninitialized read: memref.load
// HALO-NEXT: this: thread 30 of block 0
// HALO-NEXT: nearest: gpux.copy at {{.*}}, thread 31 of block 0
// HALO-NEXT: on: bytes 128 to 131 of workgroup buffer {{.*}} (from element [32] on) the first time; 4 bytes in later accesses
// HALO: halo: not clean
// JSON: "kind": "uninitialized-read"
func.func @halo(%src: !src, %dst: !src) {
  func.call @stencil(%src, %dst) : (!src, !src) -> ()
  return
}

// WHOLE: whole_halo: clean
func.func @whole_halo(%src: !src, %dst: !src) {
  func.call @stencil(%src, %dst) : (!src, !src) -> ()
  return
}

func.func private @stencil(%src: !src, %dst: !src) {
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %t = gpu.thread_id x
  %tile = memref.alloc() : !halo
  %copy = gpux.copy async %src[%t], %tile[%t], 1 : !src to !halo
  async.await %copy
  gpu.barrier
  %inside = arith.cmpi ult, %t, %c32 : index
  scf.if %inside {
    %right = arith.addi %t, %c2 : index
    %x = memref.load %tile[%right] : !halo
    memref.store %x, %dst[%t] : !src
  }
  return
}

// PRIVATE: error: uninitialized read: memref.load
// PRIVATE-NEXT: this:
// PRIVATE-NEXT: on: bytes 4 to 7 of a private buffer
func.func @accumulator(%dst: !src) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<2xf32>
  memref.store %zero, %sums[%c0] : memref<2xf32>
  %x = memref.load %sums[%c0] : memref<2xf32>
  %y = memref.load %sums[%c1] : memref<2xf32>
  memref.store %y, %dst[%c0] : !src
  return
}

// GLOBAL: error: uninitialized read: memref.load
func.func @fresh_global(%dst: !src) {
  %c0 = arith.constant 0 : index
  %fresh = memref.get_global @fresh : memref<4xf32>
  %x = memref.load %fresh[%c0] : memref<4xf32>
  memref.store %x, %dst[%c0] : !src
  return
}

// A copy reads, too.
// PASSED: error: uninitialized read: gpux.copy
// PASSED-NOT: uninitialized
func.func @passed_on(%dst: !src) {
  %t = gpu.thread_id x
  %fresh = memref.alloc() : memref<32xf32>
  %tile = memref.alloc() : !halo
  %copy = gpux.copy async %fresh[%t], %tile[%t], 1 : memref<32xf32> to !halo
  async.await %copy
  %x = memref.load %tile[%t] : !halo
  memref.store %x, %dst[%t] : !src
  return
}

// Thread 0 reads before thread 1 has written: what is missing is the barrier.
// BARRIER: error: RAW race: memref.load reads what another thread wrote
// BARRIER: also: WAR of memref.store
// BARRIER-NOT: error: uninitialized
func.func @missing_barrier(%dst: !src) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  %tile = memref.alloc() : !halo
  memref.store %one, %tile[%t] : !halo
  %next = arith.addi %t, %c1 : index
  %right = arith.remui %next, %c32 : index
  %x = memref.load %tile[%right] : !halo
  memref.store %x, %dst[%t] : !src
  return
}

// The same of two reads.
// TWO: error: RAW race
// TWO-NOT: error: uninitialized
// TWO: missing_barrier_of_two: not clean
func.func @missing_barrier_of_two(%dst: !src) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  %tile = memref.alloc() : !halo
  memref.store %one, %tile[%t] : !halo
  %next = arith.addi %t, %c1 : index
  %right = arith.remui %next, %c32 : index
  %x = memref.load %tile[%right] : !halo
  %y = memref.load %tile[%right] : !halo
  %sum = arith.addf %x, %y : f32
  memref.store %sum, %dst[%t] : !src
  return
}

// Nobody ever writes the last element, whatever races there are for others.
// BESIDE: error: WAR race
// BESIDE: error: uninitialized read: memref.load
// BESIDE-NEXT: this: thread 31 of block 0
func.func @beside_a_race(%dst: !src) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  %tile = memref.alloc() : !halo
  memref.store %one, %tile[%t] : !halo
  gpu.barrier
  %right = arith.addi %t, %c1 : index
  %x = memref.load %tile[%right] : !halo
  memref.store %x, %tile[%t] : !halo
  memref.store %x, %dst[%t] : !src
  return
}

// A kernel finds nothing in memory of the workgroup, unless that is what it is given.
// PARAMETER: error: uninitialized read: memref.load
// GIVEN: parameter: clean
func.func @parameter(%tile: !halo, %dst: !src) {
  %c0 = arith.constant 0 : index
  %x = memref.load %tile[%c0] : !halo
  memref.store %x, %dst[%c0] : !src
  return
}
