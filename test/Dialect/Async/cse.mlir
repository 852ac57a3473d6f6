// RUN: async-opt %s --cse --split-input-file --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: func.func @pure_regions_merge
func.func @pure_regions_merge(%x: f32) -> (!async.token, !async.token) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %{{.*}} = async.region
  // CHECK-NOT: async.region
  // CHECK: return %[[T]], %[[T]]
  %t0, %v0 = async.region -> (f32) {
    %y = arith.addf %x, %x : f32
    async.yield %y : f32
  }
  %t1, %v1 = async.region -> (f32) {
    %y = arith.addf %x, %x : f32
    async.yield %y : f32
  }
  return %t0, %t1 : !async.token, !async.token
}

// -----

// CHECK-LABEL: func.func @regions_with_effects_do_not_merge
func.func @regions_with_effects_do_not_merge(%m: memref<4xf32>, %i: index, %x: f32) {
  // CHECK-COUNT-2: async.region
  %t0 = async.region {
    memref.store %x, %m[%i] : memref<4xf32>
    async.yield
  }
  %t1 = async.region {
    memref.store %x, %m[%i] : memref<4xf32>
    async.yield
  }
  return
}

// -----

// CHECK-LABEL: func.func @common_expressions_of_a_region
func.func @common_expressions_of_a_region(%x: f32) -> f32 {
  // CHECK-NEXT: %[[Y:[a-z_0-9]+]] = arith.addf
  %y = arith.addf %x, %x : f32
  // CHECK-NEXT: async.region {
  // CHECK-NEXT: "test.use"(%[[Y]], %[[Y]])
  %t = async.region {
    %a = arith.addf %x, %x : f32
    %b = arith.addf %x, %x : f32
    "test.use"(%a, %b) : (f32, f32) -> ()
    async.yield
  }
  return %y : f32
}

// -----

// CHECK-LABEL: func.func @joins_and_readies_merge
func.func @joins_and_readies_merge(%a: !async.token) -> (!async.token, !async.token) {
  // CHECK-NEXT: %[[R:[a-z_0-9]+]] = async.ready
  // CHECK-NEXT: %[[J:[a-z_0-9]+]] = async.join %[[R]], %{{.*}}
  // CHECK-NEXT: return %[[J]], %[[J]]
  %r0 = async.ready
  %r1 = async.ready
  %j0 = async.join %r0, %a
  %j1 = async.join %r1, %a
  return %j0, %j1 : !async.token, !async.token
}
