// RUN: async-opt %s --canonicalize --split-input-file --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: func.func @await_of_ready
func.func @await_of_ready() {
  %t = async.ready
  // CHECK-NEXT: return
  async.await %t
  return
}

// -----

// CHECK-LABEL: func.func @await_of_nothing
func.func @await_of_nothing() {
  // CHECK-NEXT: return
  async.await ()
  return
}

// -----

// CHECK-LABEL: func.func @await_drops_ready_and_repeated
// CHECK-SAME: (%[[T:[a-z_0-9]+]]: !async.token, %[[U:[a-z_0-9]+]]: !async.token)
func.func @await_drops_ready_and_repeated(%t: !async.token, %u: !async.token) {
  %r = async.ready
  // CHECK-NEXT: async.await %[[T]], %[[U]] {test.keep}
  async.await %t, %r, %u, %t {test.keep}
  return
}

// -----

// CHECK-LABEL: func.func @await_of_join
// CHECK-SAME: (%[[T:[a-z_0-9]+]]: !async.token, %[[U:[a-z_0-9]+]]: !async.token, %[[V:[a-z_0-9]+]]: !async.token)
func.func @await_of_join(%t: !async.token, %u: !async.token, %v: !async.token) {
  %j = async.join %t, %u
  // CHECK-NEXT: async.await %[[T]], %[[U]], %[[V]]
  async.await %j, %v, %t
  return
}

// -----

// CHECK-LABEL: func.func @await_stays
func.func @await_stays(%t: !async.token) {
  // CHECK-NEXT: async.await
  // CHECK-NEXT: async.await
  async.await %t
  async.await %t
  return
}

// -----

// CHECK-LABEL: func.func @join_of_none
func.func @join_of_none() -> !async.token {
  // CHECK-NEXT: %[[R:[a-z_0-9]+]] = async.ready
  // CHECK-NEXT: return %[[R]]
  %j = async.join ()
  return %j : !async.token
}

// -----

// CHECK-LABEL: func.func @join_of_ready
func.func @join_of_ready() -> !async.token {
  %r0 = async.ready
  %r1 = async.ready
  // CHECK: %[[R:[a-z_0-9]+]] = async.ready
  // CHECK-NEXT: return %[[R]]
  %j = async.join %r0, %r1
  return %j : !async.token
}

// -----

// CHECK-LABEL: func.func @join_of_one
// CHECK-SAME: (%[[T:[a-z_0-9]+]]: !async.token)
func.func @join_of_one(%t: !async.token) -> !async.token {
  // CHECK-NEXT: return %[[T]]
  %r = async.ready
  %j = async.join %t, %r, %t
  return %j : !async.token
}

// -----

// CHECK-LABEL: func.func @joins_flatten
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: !async.token, %[[B:[a-z_0-9]+]]: !async.token, %[[C:[a-z_0-9]+]]: !async.token, %[[D:[a-z_0-9]+]]: !async.token)
func.func @joins_flatten(%a: !async.token, %b: !async.token, %c: !async.token, %d: !async.token) -> !async.token {
  // CHECK-NEXT: %[[J:[a-z_0-9]+]] = async.join %[[A]], %[[B]], %[[C]], %[[D]]
  // CHECK-NEXT: return %[[J]]
  %ab = async.join %a, %b
  %cd = async.join %c, %d
  %j0 = async.join %ab, %cd
  %j1 = async.join %j0, %b
  return %j1 : !async.token
}

// -----

// A join that others use as well is kept as it is, so that tokens are not copied
// into every join that builds on it.
// CHECK-LABEL: func.func @shared_join_stays
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: !async.token, %[[B:[a-z_0-9]+]]: !async.token, %[[C:[a-z_0-9]+]]: !async.token)
func.func @shared_join_stays(%a: !async.token, %b: !async.token, %c: !async.token) -> (!async.token, !async.token) {
  // CHECK-NEXT: %[[AB:[a-z_0-9]+]] = async.join %[[A]], %[[B]]
  // CHECK-NEXT: %[[ABC:[a-z_0-9]+]] = async.join %[[AB]], %[[C]]
  // CHECK-NEXT: return %[[AB]], %[[ABC]]
  %ab = async.join %a, %b
  %abc = async.join %ab, %c
  return %ab, %abc : !async.token, !async.token
}

// -----

// CHECK-LABEL: func.func @dependencies_merge
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: !async.token, %[[B:[a-z_0-9]+]]: !async.token)
func.func @dependencies_merge(%a: !async.token, %b: !async.token) -> !async.token {
  %r = async.ready
  %j = async.join %b, %a
  // CHECK-NEXT: async.region [%[[A]], %[[B]]] {
  %t = async.region [%a, %r, %a, %j] {
    "test.work"() : () -> ()
    async.yield
  }
  return %t : !async.token
}

// -----

// CHECK-LABEL: func.func @yielded_tokens_merge
func.func @yielded_tokens_merge() -> !async.token {
  // CHECK: async.region {
  %t = async.region {
    // CHECK-NEXT: %[[A:[a-z_0-9]+]] = "test.async"
    // CHECK-NEXT: %[[B:[a-z_0-9]+]] = "test.async"
    %a = "test.async"() : () -> !async.token
    %b = "test.async"() : () -> !async.token
    %r = async.ready
    %j = async.join %a, %b
    // CHECK-NEXT: async.yield %[[A]], %[[B]] : !async.token, !async.token
    async.yield %a, %r, %j, %a : !async.token, !async.token, !async.token, !async.token
  }
  return %t : !async.token
}

// -----

// A function's token is part of its type.
// CHECK-LABEL: async.func @function_token_stays
async.func @function_token_stays() -> (!async.token, !async.token) {
  // CHECK-NEXT: %[[R:[a-z_0-9]+]] = async.ready
  // CHECK-NEXT: async.yield %[[R]], %[[R]] : !async.token, !async.token
  %r = async.ready
  async.yield %r, %r : !async.token, !async.token
}

// -----

// CHECK-LABEL: func.func @empty_region
func.func @empty_region() -> !async.token {
  // CHECK-NEXT: %[[R:[a-z_0-9]+]] = async.ready
  // CHECK-NEXT: return %[[R]]
  %t = async.region {
    async.yield
  }
  return %t : !async.token
}

// -----

// CHECK-LABEL: func.func @empty_region_with_dependencies
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: !async.token, %[[B:[a-z_0-9]+]]: !async.token, %[[C:[a-z_0-9]+]]: !async.token)
func.func @empty_region_with_dependencies(%a: !async.token, %b: !async.token, %c: !async.token) -> !async.token {
  // CHECK-NEXT: %[[J:[a-z_0-9]+]] = async.join %[[A]], %[[B]], %[[C]]
  // CHECK-NEXT: return %[[J]]
  %t = async.region [%a, %b] {
    async.yield %c : !async.token
  }
  return %t : !async.token
}

// -----

// CHECK-LABEL: func.func @empty_region_forwards_values
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: !async.token, %[[X:[a-z_0-9]+]]: f32)
func.func @empty_region_forwards_values(%a: !async.token, %x: f32) -> (!async.token, f32) {
  // CHECK-NEXT: return %[[A]], %[[X]]
  %t, %v = async.region [%a] -> (f32) {
    async.yield %x : f32
  }
  return %t, %v : !async.token, f32
}

// -----

// CHECK-LABEL: func.func @dead_region
func.func @dead_region(%m: memref<4xf32>, %i: index) {
  // CHECK-NEXT: return
  %t, %v = async.region -> (f32) {
    %x = memref.load %m[%i] : memref<4xf32>
    %y = arith.addf %x, %x : f32
    async.yield %y : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @region_with_effects_stays
func.func @region_with_effects_stays(%m: memref<4xf32>, %i: index, %x: f32) {
  // CHECK-NEXT: async.region {
  // CHECK-NEXT: memref.store
  %t = async.region {
    memref.store %x, %m[%i] : memref<4xf32>
    async.yield
  }
  return
}

// -----

// A region that blocks is not dead.
// CHECK-LABEL: func.func @region_with_await_stays
func.func @region_with_await_stays(%a: !async.token) {
  // CHECK-NEXT: async.region {
  // CHECK-NEXT: async.await
  %t = async.region {
    async.await %a
    async.yield
  }
  return
}

// -----

// CHECK-LABEL: func.func @unused_and_outer_values
// CHECK-SAME: (%[[X:[a-z_0-9]+]]: f32)
func.func @unused_and_outer_values(%x: f32) -> (f32, f32) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = async.region -> (f32) {
  // CHECK-NEXT: %[[USED:[a-z_0-9]+]] = "test.used"
  // CHECK-NEXT: %[[INNER:[a-z_0-9]+]] = "test.async"
  // CHECK-NEXT: async.yield %[[USED]], %[[INNER]] : f32, !async.token
  %t, %v:3 = async.region -> (f32, f32, f32) {
    %used = "test.used"() : () -> f32
    %unused = arith.addf %x, %x : f32
    %inner = "test.async"() : () -> !async.token
    async.yield %unused, %x, %used, %inner : f32, f32, f32, !async.token
  }
  // CHECK: async.await %[[T]]
  async.await %t
  // CHECK-NEXT: return %[[X]], %[[V]]
  return %v#1, %v#2 : f32, f32
}

// -----

// Once its values are forwarded nothing is left of the region.
// CHECK-LABEL: func.func @constants_move_out
func.func @constants_move_out() -> (!async.token, f32) {
  // CHECK-DAG: %[[C:[a-z_0-9]+]] = arith.constant 1.0
  // CHECK-DAG: %[[R:[a-z_0-9]+]] = async.ready
  // CHECK: return %[[R]], %[[C]]
  %t, %v = async.region -> (f32) {
    %c = arith.constant 1.0 : f32
    async.yield %c : f32
  }
  return %t, %v : !async.token, f32
}

// -----

// CHECK-LABEL: func.func @select_of_tokens
func.func @select_of_tokens(%c: i1, %t: !async.token) {
  %r = async.ready
  // CHECK: %[[S:[a-z_0-9]+]] = arith.select
  // CHECK-NEXT: async.await %[[S]]
  %s = arith.select %c, %t, %r : !async.token
  async.await %s
  return
}
