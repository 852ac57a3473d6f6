// Calls are run where they stand, and reports name them.
//
// RUN: not async-sim %s --kernel=caller | FileCheck %s --check-prefix=CALLER
// RUN: async-sim %s --kernel=task | FileCheck %s --check-prefix=TASK
// RUN: not async-sim %s --kernel=early | FileCheck %s --check-prefix=EARLY

!src = memref<16xf32>
!dst = memref<16xf32, #gpu.address_space<workgroup>>

func.func private @first(%m: !dst) -> f32 {
  %c0 = arith.constant 0 : index
  %x = memref.load %m[%c0] : !dst
  return %x : f32
}

// CALLER: calls.mlir:12:8, called at {{.*}}calls.mlir:[[#@LINE+7]]:8: error: RAW race: memref.load
func.func @caller(%src: !src) {
  %dst = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  gpux.copy %src[%c0], %dst[%c0], 4 : !src to !dst
  gpux.commit_group <cp_async>

  %x = call @first(%dst) : (!dst) -> f32
  return
}

async.func private @filled(%src: !src, %dst: !dst) -> (!dst, !async.token) {
  %c0 = arith.constant 0 : index
  %t = gpux.copy async %src[%c0], %dst[%c0], 4 : !src to !dst
  async.yield %dst, %t : !dst, !async.token
}

// TASK: task: clean
func.func @task(%src: !src) {
  %dst = memref.alloc() : !dst
  %m, %t = async.call @filled(%src, %dst) : (!src, !dst) -> (!dst, !async.token)
  async.await %t
  %x = call @first(%m) : (!dst) -> f32
  return
}

// EARLY: error: memref.load: a value of the async.call at {{.*}} is used before its token is complete
func.func @early(%src: !src) {
  %dst = memref.alloc() : !dst
  %m, %t = async.call @filled(%src, %dst) : (!src, !dst) -> (!dst, !async.token)
  %x = call @first(%m) : (!dst) -> f32
  return
}

// Each call has a buffer of its own, and what threads share is there until the last of them ends.
//
// RUN: async-sim %s --kernel=two_buffers --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=BUFFERS
func.func private @filled_with(%x: f32) -> memref<32xf32, 3> {
  %s = memref.alloc() : memref<32xf32, 3>
  %t = gpu.thread_id x
  memref.store %x, %s[%t] : memref<32xf32, 3>
  return %s : memref<32xf32, 3>
}

// BUFFERS: two_buffers: clean
// BUFFERS: argument 0: 1 1 1 1
func.func @two_buffers(%out: memref<32xf32>) {
  %c31 = arith.constant 31 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %t = gpu.thread_id x
  %a = call @filled_with(%one) : (f32) -> memref<32xf32, 3>
  %b = call @filled_with(%two) : (f32) -> memref<32xf32, 3>
  gpu.barrier
  %mirror = arith.subi %c31, %t : index
  %x = memref.load %a[%mirror] : memref<32xf32, 3>
  memref.store %x, %out[%t] : memref<32xf32>
  memref.dealloc %b : memref<32xf32, 3>
  memref.dealloc %a : memref<32xf32, 3>
  return
}
