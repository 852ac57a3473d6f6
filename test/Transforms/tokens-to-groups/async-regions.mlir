// In device code an async.region is issued in place: its dependencies are awaited, its operations issued, and its token is
// the join of those it yields.
//
// RUN: async-opt %s --gpux-tokens-to-groups --split-input-file | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @yields_tokens
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: gpux.wait_group <cp_async>, 1
  // CHECK-NEXT: gpux.wait_group <cp_async>, 0
  // CHECK-NEXT: gpu.return
  gpu.func @yields_tokens(%src: !src, %dst: !dst, %i: index) kernel {
    %t = async.region {
      %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      async.yield %a, %b : !t, !t
    }
    %u = async.region {
      %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      async.yield %a : !t
    }
    async.await %t
    async.await %u
    gpu.return
  }

  // The region starts when %t is complete.
  // CHECK-LABEL: gpu.func @dependencies
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: gpux.wait_group <cp_async>, 1
  // CHECK-NEXT: %[[V:.+]] = memref.load
  // CHECK-NEXT: gpux.wait_group <cp_async>, 0
  // CHECK-NEXT: memref.store %[[V]]
  // CHECK-NEXT: gpu.return
  gpu.func @dependencies(%src: !src, %dst: !dst, %i: index) kernel {
    %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %r, %v = async.region [%t] -> (f32) {
      %v = memref.load %dst[%i] : !dst
      async.yield %v : f32
    }
    // The body has run by now: this awaits %u alone.
    async.await %r, %u
    memref.store %v, %src[%i] : !src
    gpu.return
  }

  // A copy whose token is not yielded does not delay the region's: nothing awaits it, so it needs no commit.
  // CHECK-LABEL: gpu.func @not_yielded
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpu.return
  gpu.func @not_yielded(%src: !src, %dst: !dst, %i: index) kernel {
    %t = async.region {
      %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
      async.yield
    }
    async.await %t
    gpu.return
  }

  // CHECK-LABEL: gpu.func @nested
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: %[[X:.+]] = arith.addi
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: gpux.wait_group <cp_async>, 1
  // CHECK-NEXT: memref.load %{{.+}}[%[[X]]]
  // CHECK-NEXT: gpux.wait_group <cp_async>, 0
  // CHECK-NEXT: gpu.return
  gpu.func @nested(%src: !src, %dst: !dst, %i: index) kernel {
    %t, %x = async.region -> (index) {
      %u, %y = async.region -> (index) {
        %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
        %z = arith.addi %i, %i : index
        async.yield %z, %a : index, !t
      }
      async.yield %y, %u : index, !t
    }
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %t
    %v = memref.load %dst[%x] : !dst
    async.await %b
    gpu.return
  }

  // Regions in a loop, around a loop, and under a condition.
  // CHECK-LABEL: gpu.func @control_flow
  // CHECK-NOT: async.
  // CHECK: scf.for
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group <cp_async>
  // CHECK-NEXT: gpux.wait_group <cp_async>, 1
  // CHECK-NEXT: }
  // CHECK-NEXT: gpux.wait_group <cp_async>, 0
  // CHECK-NEXT: gpu.return
  gpu.func @control_flow(%src: !src, %dst: !dst, %i: index, %n: index) kernel {
    %t = async.region {
      %none = async.ready
      %last = scf.for %k = %i to %n step %i iter_args(%x = %none) -> !t {
        %next = async.region {
          %a = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
          async.yield %a : !t
        }
        async.await %x
        scf.yield %next : !t
      }
      async.yield %last : !t
    }
    async.await %t
    gpu.return
  }
}

// -----

// Asynchronous host code is none of this pass's business: nothing of it is of a group queue.
// CHECK-LABEL: func.func @host
// CHECK: async.region
// CHECK: async.await
func.func @host(%m: memref<8xf32>, %v: f32, %i: index) {
  %t = async.region {
    memref.store %v, %m[%i] : memref<8xf32>
    async.yield
  }
  async.await %t
  return
}
