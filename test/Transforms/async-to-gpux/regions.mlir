// An asynchronous region of transfers becomes the transfers, and its token a join of theirs.
//
// RUN: async-opt %s --async-to-gpux | FileCheck %s
// RUN: async-opt %s --async-to-gpux --gpux-tokens-to-groups

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @join
  // CHECK-NOT: async.region
  // CHECK: %[[T0:.*]] = gpux.copy async %{{[a-z0-9]+}}[%[[I:.*]]], %{{[a-z0-9]+}}[%[[I]]], 1
  // CHECK: %[[C:.*]] = arith.addi %[[I]], %c128
  // CHECK: %[[T1:.*]] = gpux.copy async %{{[a-z0-9]+}}[%[[C]]], %{{[a-z0-9]+}}[%[[C]]], 1
  // CHECK-NEXT: %[[BOTH:.*]] = async.join %[[T0]], %[[T1]]
  // CHECK-NEXT: gpu.printf
  // CHECK-NEXT: async.await %[[BOTH]]
  // CHECK-NEXT: gpu.return
  gpu.func @join(%in: memref<512xf32>) workgroup(%s: !Line) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %token = async.region {
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %s[%t] : !Line
      %i = arith.addi %t, %c128 : index
      %w = memref.load %in[%i] : memref<512xf32>
      memref.store %w, %s[%i] : !Line
      async.yield
    }
    gpu.printf "in flight"
    async.await %token
    gpu.return
  }

  // One token needs no join. What the region depends on is awaited, and what it yields stays.
  // CHECK-LABEL: gpu.func @dependencies_and_values
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T0]]
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi
  // CHECK-NEXT: %[[T1:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T1]]
  // CHECK-NEXT: memref.load %{{[a-z0-9]+}}[%[[NEXT]]]
  gpu.func @dependencies_and_values(%in: memref<512xf32>, %out: memref<512xf32>) workgroup(%s: !Line) kernel {
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %before = gpux.copy async %in[%t], %s[%t], 1 : memref<512xf32> to !Line
    %token, %next = async.region [%before] -> (index) {
      %i = arith.addi %t, %c1 : index
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %s[%t] : !Line
      async.yield %i : index
    }
    async.await %token
    %x = memref.load %s[%next] : !Line
    memref.store %x, %out[%t] : memref<512xf32>
    gpu.return
  }

  // Tokens that a region yields are part of its own.
  // CHECK-LABEL: gpu.func @yielded_tokens
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK: %[[T1:.*]] = gpux.copy
  // CHECK-NEXT: async.join %[[T1]], %[[T0]]
  gpu.func @yielded_tokens(%in: memref<512xf32>) workgroup(%a: !Line, %b: !Line) kernel {
    %t = gpu.thread_id x
    %outer = gpux.copy async %in[%t], %a[%t], 1 : memref<512xf32> to !Line
    %token = async.region {
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %b[%t] : !Line
      async.yield %outer : !async.token
    }
    async.await %token
    gpu.return
  }

  // The second of two transfers to one place depends on the first.
  // CHECK-LABEL: gpu.func @in_order
  // CHECK: %[[T0:.*]] = gpux.copy async %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 1
  // CHECK: %[[T1:.*]] = gpux.copy async [%[[T0]]] %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 1
  // CHECK-NEXT: async.join %[[T0]], %[[T1]]
  gpu.func @in_order(%in: memref<512xf32>, %i: index) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %token = async.region {
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %s[%t] : !Line
      %w = memref.load %in[%i] : memref<512xf32>
      memref.store %w, %s[%t] : !Line
      async.yield
    }
    async.await %token
    gpu.return
  }

  // A region that also does other things is left to be issued in place. So is one without transfers.
  // CHECK-LABEL: gpu.func @other_work
  // CHECK-COUNT-2: async.region
  // CHECK-NOT: gpux.copy
  gpu.func @other_work(%in: memref<512xf32>, %x: f32) workgroup(%a: !Line, %b: !Line) kernel {
    %t = gpu.thread_id x
    %token = async.region {
      %v = memref.load %in[%t] : memref<512xf32>
      memref.store %v, %a[%t] : !Line
      memref.store %x, %b[%t] : !Line
      async.yield
    }
    async.await %token
    %other = async.region {
      memref.store %x, %b[%t] : !Line
      async.yield
    }
    async.await %other
    gpu.return
  }
}
