// Tokens are counted in one function: what takes or returns them stands where it is called.
//
// RUN: async-opt %s --gpux-inline-calls | FileCheck %s
// RUN: async-opt %s --gpux-inline-calls --gpux-tokens-to-groups | FileCheck %s --check-prefix=GROUPS

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @helpers
gpu.module @helpers {
  // Nothing but a call could use it, and none is left.
  // CHECK-NOT: @load
  func.func @load(%src: !Global, %dst: !Buffer, %i: index) -> !async.token {
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
    return %t : !async.token
  }
  // CHECK-NOT: @load_two
  func.func private @load_two(%src: !Global, %dst: !Buffer, %i: index, %j: index) -> !async.token {
    %t = call @load(%src, %dst, %i) : (!Global, !Buffer, index) -> !async.token
    %u = call @load(%src, %dst, %j) : (!Global, !Buffer, index) -> !async.token
    %both = async.join %t, %u
    return %both : !async.token
  }
  // CHECK-NOT: @nobody_calls
  func.func private @nobody_calls(%t: !async.token) {
    async.await %t
    return
  }
  // CHECK-NOT: @wait
  func.func private @wait(%t: !async.token) {
    async.await %t
    return
  }

  // What has nothing to do with tokens stays a call.
  // CHECK: func.func private @sum
  func.func private @sum(%x: f32, %y: f32) -> f32 {
    %z = arith.addf %x, %y : f32
    return %z : f32
  }

  // CHECK-LABEL: gpu.func @kernel
  // CHECK-NEXT: %[[A:.*]] = gpux.copy async %arg0[%arg1]
  // CHECK-NEXT: %[[B:.*]] = gpux.copy async %arg0[%arg2]
  // CHECK-NEXT: %[[AB:.*]] = async.join %[[A]], %[[B]]
  // CHECK-NEXT: %[[C:.*]] = gpux.copy async %arg0[%arg1]
  // CHECK-NEXT: async.await %[[AB]]
  // CHECK-NEXT: func.call @sum
  // CHECK-NEXT: async.await %[[C]]
  //
  // GROUPS-LABEL: gpu.func @kernel
  // GROUPS: gpux.wait_group <cp_async>, 1
  // GROUPS: gpux.wait_group <cp_async>, 0
  gpu.func @kernel(%src: !Global, %i: index, %j: index, %x: f32) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = func.call @load_two(%src, %a, %i, %j) : (!Global, !Buffer, index, index) -> !async.token
    %u = func.call @load(%src, %b, %i) : (!Global, !Buffer, index) -> !async.token
    func.call @wait(%t) : (!async.token) -> ()
    %y = func.call @sum(%x, %x) : (f32, f32) -> f32
    func.call @wait(%u) : (!async.token) -> ()
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @bodies
gpu.module @bodies {
  // Several blocks, where there is room for them.
  func.func private @either(%src: !Global, %dst: !Buffer, %i: index, %p: i1) -> !async.token {
    cf.cond_br %p, ^copy, ^none
  ^copy:
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
    return %t : !async.token
  ^none:
    %u = async.ready
    return %u : !async.token
  }
  // CHECK-LABEL: gpu.func @blocks
  // CHECK: cf.cond_br %{{.*}}, ^bb1, ^bb2
  // CHECK: gpux.copy async
  // CHECK: async.ready
  // CHECK: async.await
  gpu.func @blocks(%src: !Global, %i: index, %p: i1) workgroup(%a: !Buffer) kernel {
    %t = func.call @either(%src, %a, %i, %p) : (!Global, !Buffer, index, i1) -> !async.token
    async.await %t
    gpu.return
  }

  // An asynchronous function is issued where it is called.
  async.func private @task(%src: !Global, %dst: !Buffer, %i: index) -> !async.token {
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
    async.yield %t : !async.token
  }
  // CHECK-LABEL: gpu.func @asynchronous
  // CHECK-NEXT: %[[T:.*]] = gpux.copy async
  // CHECK-NEXT: async.await %[[T]]
  gpu.func @asynchronous(%src: !Global, %i: index) workgroup(%a: !Buffer) kernel {
    %t = async.call @task(%src, %a, %i) : (!Global, !Buffer, index) -> !async.token
    async.await %t
    gpu.return
  }

  // Workgroup memory is that of one call. What a thread had on its stack is not pushed by each iteration.
  func.func private @scratch(%x: f32, %i: index) -> !Buffer {
    %c0 = arith.constant 0 : index
    %own = memref.alloca() : memref<1xf32>
    memref.store %x, %own[%c0] : memref<1xf32>
    %a = memref.alloc() : !Buffer
    return %a : !Buffer
  }
  // CHECK-LABEL: gpu.func @buffers
  // CHECK-NEXT: %[[OWN:.*]] = memref.alloca() : memref<1xf32>
  // CHECK: scf.for
  // CHECK: memref.store %{{.*}}, %[[OWN]]
  // CHECK-NEXT: memref.alloc() : memref<64xf32, #gpu.address_space<workgroup>>
  gpu.func @buffers(%x: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      %a = func.call @scratch(%x, %k) : (f32, index) -> !Buffer
      memref.store %x, %a[%k] : !Buffer
    }
    gpu.return
  }
}

// What nobody calls breaks nothing, whatever is wrong with it.
// CHECK-LABEL: gpu.module @dead
// CHECK-NOT: func.func
// CHECK: gpu.func @kernel
gpu.module @dead {
  func.func private @declared(%i: index) -> !async.token
  func.func private @calls_itself(%i: index) -> !async.token {
    %t = func.call @calls_itself(%i) : (index) -> !async.token
    return %t : !async.token
  }
  func.func private @calls_what_is_not_here(%i: index) -> !async.token {
    %t = func.call @declared(%i) : (index) -> !async.token
    return %t : !async.token
  }
  gpu.func @kernel() kernel {
    gpu.return
  }
}

// Host code stays as it is.
// CHECK: func.func private @host_load
func.func private @host_load(%src: !Global, %dst: !Buffer, %i: index) -> !async.token {
  %t = gpux.copy async %src[%i], %dst[%i], 1 : !Global to !Buffer
  return %t : !async.token
}
