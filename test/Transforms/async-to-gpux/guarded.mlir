// What is loaded under a condition, and is zeros otherwise: a copy that reads nothing otherwise.
//
// RUN: async-opt %s --async-to-gpux --canonicalize --cse | FileCheck %s

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @store_in_both_arms
  // CHECK-SAME: %[[IN:[a-z0-9]+]]: memref<?xf32>, %[[N:.*]]: index
  // CHECK: %[[I:.*]] = arith.muli
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %[[N]]
  // CHECK-NOT: scf.if
  // CHECK: %[[COUNT:.*]] = arith.select %[[INSIDE]], %c4, %c0
  // CHECK: %[[T:.*]] = gpux.copy async %[[IN]][%[[I]]], %{{[a-z0-9]+}}[%[[I]]], 4, %[[COUNT]] {bypass_l1}
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: gpu.barrier
  gpu.func @store_in_both_arms(%in: memref<?xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c4 = arith.constant 4 : index
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %inside = arith.cmpi ult, %i, %n : index
    scf.if %inside {
      %v = vector.load %in[%i] : memref<?xf32>, vector<4xf32>
      vector.store %v, %s[%i] : !Line, vector<4xf32>
    } else {
      vector.store %zeros, %s[%i] : !Line, vector<4xf32>
    }
    gpu.barrier
    gpu.return
  }

  // The address is computed where it is used; the condition may be the other way around; two transfers share a branch.
  // CHECK-LABEL: gpu.func @two_places
  // CHECK-SAME: %[[IN:[a-z0-9]+]]: memref<?xf32>, %[[OUTSIDE:.*]]: i1, %[[I:.*]]: index
  // CHECK: %[[COUNT:.*]] = arith.select %[[OUTSIDE]], %c0, %c1
  // CHECK: gpux.copy async %[[IN]][%[[I]]], %{{.*}}[%c0], 1, %[[COUNT]]
  // CHECK: %[[J:.*]] = arith.addi %[[I]], %c8
  // CHECK: gpux.copy async %[[IN]][%[[J]]], %{{.*}}[%c4], 1, %[[COUNT]]
  // CHECK-NOT: scf.if
  // CHECK: gpu.return
  gpu.func @two_places(%in: memref<?xf32>, %outside: i1, %i: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    scf.if %outside {
      memref.store %zero, %s[%c4] : !Line
      memref.store %zero, %s[%c0] : !Line
    } else {
      %j = arith.addi %i, %c8 : index
      %v = memref.load %in[%i] : memref<?xf32>
      %w = memref.load %in[%j] : memref<?xf32>
      memref.store %v, %s[%c0] : !Line
      memref.store %w, %s[%c4] : !Line
    }
    gpu.barrier
    gpu.return
  }

  // A load whose result a branch yields; two of them, in one branch.
  // CHECK-LABEL: gpu.func @yielded
  // CHECK-SAME: %[[IN:[a-z0-9]+]]: memref<?xf32>, %[[INSIDE:.*]]: i1
  // CHECK: %[[COUNT:.*]] = arith.select %[[INSIDE]], %c4, %c0
  // CHECK: gpux.copy async %[[IN]][%c0], %{{.*}}[%c0], 4, %[[COUNT]]
  // CHECK: gpux.copy async %[[IN]][%c4], %{{.*}}[%c4], 4, %[[COUNT]]
  // CHECK-NOT: vector.load
  // CHECK: gpu.return
  gpu.func @yielded(%in: memref<?xf32>, %inside: i1) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %r:2 = scf.if %inside -> (vector<4xf32>, vector<4xf32>) {
      %v = vector.load %in[%c0] : memref<?xf32>, vector<4xf32>
      %w = vector.load %in[%c4] : memref<?xf32>, vector<4xf32>
      scf.yield %v, %w : vector<4xf32>, vector<4xf32>
    } else {
      scf.yield %zeros, %zeros : vector<4xf32>, vector<4xf32>
    }
    vector.store %r#0, %s[%c0] : !Line, vector<4xf32>
    vector.store %r#1, %s[%c4] : !Line, vector<4xf32>
    gpu.barrier
    gpu.return
  }

  // A choice of what is loaded or zeros, by a truth value or by a mask of first elements; the least bound counts.
  // CHECK-LABEL: gpu.func @selected
  // CHECK-SAME: %{{.*}}: memref<512xf32>, %[[INSIDE:.*]]: i1, %[[N:.*]]: index
  // CHECK: %[[COUNT:.*]] = arith.select %[[INSIDE]], %c4, %c0
  // CHECK: gpux.copy async %{{.*}}[%c0], %{{.*}}[%c0], 4, %[[COUNT]]
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[N]], %c0
  // CHECK: %[[FIRST:.*]] = arith.minsi %[[POSITIVE]], %c4
  // CHECK: gpux.copy async %{{.*}}[%c4], %{{.*}}[%c4], 4, %[[FIRST]]
  // CHECK: %[[BOTH:.*]] = arith.select %[[INSIDE]], %c0, %[[FIRST]]
  // CHECK: gpux.copy async %{{.*}}[%c8], %{{.*}}[%c8], 4, %[[BOTH]]
  // CHECK-NOT: vector.load
  // CHECK: gpu.return
  gpu.func @selected(%in: memref<512xf32>, %inside: i1, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %m = vector.create_mask %n : vector<4xi1>
    %u = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    %us = arith.select %inside, %u, %zeros : vector<4xf32>
    vector.store %us, %s[%c0] : !Line, vector<4xf32>
    %v = vector.load %in[%c4] : memref<512xf32>, vector<4xf32>
    %vs = arith.select %m, %v, %zeros : vector<4xi1>, vector<4xf32>
    vector.store %vs, %s[%c4] : !Line, vector<4xf32>
    %w = vector.load %in[%c8] : memref<512xf32>, vector<4xf32>
    %ws = arith.select %m, %w, %zeros : vector<4xi1>, vector<4xf32>
    %wss = arith.select %inside, %zeros, %ws : vector<4xf32>
    vector.store %wss, %s[%c8] : !Line, vector<4xf32>
    gpu.barrier
    gpu.return
  }
}
