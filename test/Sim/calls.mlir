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
