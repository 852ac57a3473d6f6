// The body of a region becomes a function, which the region calls.

// RUN: async-opt %s --async-outline | FileCheck %s

// What the body uses is an argument; constants are not.
// CHECK-LABEL: func.func @captures
// CHECK-SAME: (%[[M:[a-z0-9]+]]: memref<4xf32>, %[[I:[a-z0-9]+]]: index)
// CHECK: async.region -> (f32) {
// CHECK-NEXT: %[[V:[a-z0-9]+]] = func.call @captures_task0(%[[M]], %[[I]]) : (memref<4xf32>, index) -> f32
// CHECK-NEXT: async.yield %[[V]] : f32
// CHECK-NEXT: }
// CHECK: func.func private @captures_task0(%[[N:[a-z0-9]+]]: memref<4xf32>, %[[J:[a-z0-9]+]]: index) -> f32 {
// CHECK-NEXT: %[[TWO:[a-z0-9_]+]] = arith.constant 2.0
// CHECK-NEXT: %[[X:[a-z0-9]+]] = memref.load %[[N]][%[[J]]]
// CHECK-NEXT: %[[Y:[a-z0-9]+]] = arith.mulf %[[X]], %[[TWO]]
// CHECK-NEXT: return %[[Y]] : f32
func.func @captures(%m: memref<4xf32>, %i: index) -> f32 {
  %two = arith.constant 2.0 : f32
  %t, %v = async.region -> (f32) {
    %x = memref.load %m[%i] : memref<4xf32>
    %y = arith.mulf %x, %two : f32
    async.yield %y : f32
  }
  async.await %t
  return %v : f32
}

// Nested regions are outlined each; trailing tokens are returned after the values.
// CHECK-LABEL: func.func @nested
// CHECK: async.region -> (f32) {
// CHECK-NEXT: func.call @nested_task0
// CHECK: func.func private @nested_task0({{.+}}) -> (f32, !async.token) {
// CHECK: async.region -> (f32) {
// CHECK-NEXT: func.call @nested_task1
// CHECK: return %{{.+}}, %{{.+}} : f32, !async.token
// CHECK: func.func private @nested_task1
func.func @nested(%x: f32) -> (f32, !async.token) {
  %t, %v = async.region -> (f32) {
    %u, %w = async.region -> (f32) {
      async.yield %x : f32
    }
    async.yield %w, %u : f32, !async.token
  }
  return %v, %t : f32, !async.token
}

// A name that is taken is not taken again.
// CHECK-LABEL: func.func @taken
// CHECK: func.call @taken_task1()
func.func private @taken_task0()
func.func @taken() {
  %t = async.region {
    func.call @taken_task0() : () -> ()
    async.yield
  }
  async.await %t
  return
}

// Functions and calls of the dialect are like others.
// CHECK-LABEL: func.func private @declared(memref<4xf32>) -> !async.token
// CHECK-LABEL: func.func @caller
// CHECK: call @declared(%{{.+}}) : (memref<4xf32>) -> !async.token
// CHECK-NEXT: return
async.func private @declared(memref<4xf32>) -> !async.token
async.func @caller(%m: memref<4xf32>) -> !async.token {
  %t = async.call @declared(%m) : (memref<4xf32>) -> !async.token
  async.yield %t : !async.token
}

// Kernels are left alone.
// CHECK-LABEL: gpu.func @kernel
// CHECK-NEXT: async.region {
// CHECK-NEXT: async.yield
gpu.module @kernels {
  gpu.func @kernel() kernel {
    %t = async.region {
      async.yield
    }
    async.await %t
    gpu.return
  }
}
