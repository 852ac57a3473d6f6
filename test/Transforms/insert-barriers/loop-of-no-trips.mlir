// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// A loop that never runs leaves no copy in flight, whatever else it would have left behind.

!row = memref<64xf32>
!slots = memref<4x64xf32, #gpu.address_space<workgroup>>
!t = !async.token

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @never_copies
  // CHECK: scf.for
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.yield
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @never_copies(%in: !row, %out: !row, %v: f32) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    memref.store %v, %s[%c1, %t] : !slots
    memref.store %v, %s[%c3, %t] : !slots
    %none = async.ready
    %a, %i, %b, %j = scf.for %k = %c0 to %c0 step %c1 iter_args(%x = %none, %p = %c1, %y = %none, %q = %c3) -> (!t, index, !t, index) {
      async.await %x
      %u = gpux.copy async %in[%t], %s[%p, %t], 1 : !row to !slots
      scf.yield %y, %q, %u, %p : !t, index, !t, index
    }
    async.await %a
    %r = memref.load %s[%i, %mirrored] : !slots
    memref.store %r, %out[%t] : !row
    gpu.return
  }

  // It hands on the token that it is given.
  // CHECK-LABEL: gpu.func @hands_on
  // CHECK: async.await
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @hands_on(%in: !row, %out: !row, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %copy = gpux.copy async %in[%t], %s[%c1, %t], 1 : !row to !slots
    %same = scf.for %k = %n to %n step %c1 iter_args(%x = %copy) -> (!t) {
      scf.yield %x : !t
    }
    async.await %same
    %r = memref.load %s[%c1, %mirrored] : !slots
    memref.store %r, %out[%t] : !row
    async.await %copy
    %q = memref.load %s[%c1, %mirrored] : !slots
    memref.store %q, %out[%mirrored] : !row
    gpu.return
  }
}
