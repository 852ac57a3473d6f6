// RUN: async-opt %s --allow-unregistered-dialect | async-opt --allow-unregistered-dialect | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --mlir-print-op-generic | async-opt --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: func.func @token_only
func.func @token_only() {
  // CHECK: %{{.*}} = async.region {
  // CHECK-NEXT: "test.work"
  // CHECK-NEXT: async.yield
  // CHECK-NEXT: }
  %t = async.region {
    "test.work"() : () -> ()
    async.yield
  }
  return
}

// CHECK-LABEL: func.func @yield_may_be_left_out
func.func @yield_may_be_left_out() {
  // CHECK: async.region {
  // CHECK-NEXT: async.yield
  // CHECK-NEXT: }
  %t = async.region {}
  return
}

// CHECK-LABEL: func.func @dependencies_and_values
// CHECK-SAME: (%[[D0:[a-z_0-9]+]]: !async.token, %[[D1:[a-z_0-9]+]]: !async.token, %[[A:[a-z_0-9]+]]: f32, %[[B:[a-z_0-9]+]]: memref<4xf32>)
func.func @dependencies_and_values(%d0: !async.token, %d1: !async.token, %a: f32, %b: memref<4xf32>) -> memref<4xf32> {
  // CHECK: %[[T:[a-z_0-9]+]], %[[R:[a-z_0-9]+]]:2 = async.region [%[[D0]], %[[D1]]] -> (f32, memref<4xf32>) {
  // CHECK-NEXT: async.yield %[[A]], %[[B]] : f32, memref<4xf32>
  %t, %r:2 = async.region [%d0, %d1] -> (f32, memref<4xf32>) {
    async.yield %a, %b : f32, memref<4xf32>
  }
  // CHECK: async.await %[[T]]
  async.await %t
  // CHECK: return %[[R]]#1
  return %r#1 : memref<4xf32>
}

// CHECK-LABEL: func.func @yielded_tokens_are_not_results
func.func @yielded_tokens_are_not_results(%v: f32) {
  // CHECK: %{{.*}}, %{{.*}} = async.region -> (f32) {
  %t, %r = async.region -> (f32) {
    // CHECK: %[[INNER:[a-z_0-9]+]] = async.region {
    %inner = async.region {
      "test.work"() : () -> ()
      async.yield
    }
    // CHECK: async.yield %{{.*}}, %[[INNER]] : f32, !async.token
    async.yield %v, %inner : f32, !async.token
  }
  return
}

// CHECK-LABEL: func.func @tokens
// CHECK-SAME: (%[[T0:[a-z_0-9]+]]: !async.token, %[[T1:[a-z_0-9]+]]: !async.token)
func.func @tokens(%t0: !async.token, %t1: !async.token) -> !async.token {
  // CHECK: async.await %[[T0]], %[[T1]]
  async.await %t0, %t1
  // CHECK: %[[READY:[a-z_0-9]+]] = async.ready
  %ready = async.ready
  // CHECK: async.join %[[READY]], %[[T0]]
  %join = async.join %ready, %t0
  return %join : !async.token
}

// Without parentheses, the result of the next operation would be an operand.
// CHECK-LABEL: func.func @no_tokens
func.func @no_tokens() -> !async.token {
  // CHECK: async.await ()
  async.await ()
  // CHECK: async.join ()
  %join = async.join ()
  return %join : !async.token
}

// CHECK-LABEL: func.func @attributes
func.func @attributes(%t: !async.token) {
  // CHECK: async.region [%{{.*}}] attributes {test.a} {
  %u = async.region [%t] attributes {test.a} {
    // CHECK: async.yield {test.b}
    async.yield {test.b}
  }
  // CHECK: async.await %{{.*}} {test.c}
  async.await %t {test.c}
  // CHECK: async.ready {test.d}
  %r = async.ready {test.d}
  // CHECK: async.join %{{.*}} {test.e}
  %j = async.join %t, %r {test.e}
  // CHECK: async.call @declared(%{{.*}}) {test.f} : (memref<8xf32>) -> (memref<8xf32>, !async.token)
  %m = memref.alloc() : memref<8xf32>
  %c:2 = async.call @declared(%m) {test.f} : (memref<8xf32>) -> (memref<8xf32>, !async.token)
  return
}

// CHECK: async.func private @declared(memref<8xf32>) -> (memref<8xf32>, !async.token)
async.func private @declared(memref<8xf32>) -> (memref<8xf32>, !async.token)

// CHECK-LABEL: async.func @f
// CHECK-SAME: (%[[X:[a-z_0-9]+]]: memref<8xf32>) -> (memref<8xf32>, !async.token) attributes {test.g}
async.func @f(%x: memref<8xf32>) -> (memref<8xf32>, !async.token) attributes {test.g} {
  // CHECK: %[[R:[a-z_0-9]+]]:2 = async.call @declared(%[[X]]) : (memref<8xf32>) -> (memref<8xf32>, !async.token)
  %m, %t = async.call @declared(%x) : (memref<8xf32>) -> (memref<8xf32>, !async.token)
  // CHECK: async.yield %[[R]]#0, %[[R]]#1 : memref<8xf32>, !async.token
  async.yield %m, %t : memref<8xf32>, !async.token
}

// CHECK-LABEL: async.func @several_blocks
async.func @several_blocks(%c: i1, %t: !async.token, %u: !async.token) -> !async.token {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  // CHECK: async.yield %{{.*}} : !async.token
  async.yield %t : !async.token
^bb2:
  // CHECK: async.yield %{{.*}} : !async.token
  async.yield %u : !async.token
}
