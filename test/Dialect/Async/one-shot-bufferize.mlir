// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @values_of_a_region
// CHECK-SAME: (%[[X:[a-z_0-9]+]]: f32)
func.func @values_of_a_region(%x: f32) -> tensor<8xf32> {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = async.region -> (memref<8xf32>) attributes {test.keep} {
  // CHECK-NEXT: %[[M:[a-z_0-9]+]] = memref.alloc
  // CHECK-NEXT: linalg.fill ins(%[[X]] : f32) outs(%[[M]] : memref<8xf32>)
  // CHECK-NEXT: async.yield %[[M]] : memref<8xf32>
  %t, %v = async.region -> (tensor<8xf32>) attributes {test.keep} {
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    async.yield %r : tensor<8xf32>
  }
  // CHECK: async.await %[[T]]
  async.await %t
  // CHECK-NEXT: return %[[V]] : memref<8xf32>
  return %v : tensor<8xf32>
}

// -----

// A region writes in place to a tensor from outside.
// CHECK-LABEL: func.func @write_in_region
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[X:[a-z_0-9]+]]: f32, %[[I:[a-z_0-9]+]]: index)
func.func @write_in_region(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: memref.store %[[X]], %[[A]][%[[I]]]
  // CHECK-NEXT: async.yield
  %t, %v = async.region -> (tensor<8xf32>) {
    %r = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %r : tensor<8xf32>
  }
  async.await %t
  // CHECK: return %[[A]]
  return %v : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @region_after_region
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @region_after_region(%a: tensor<8xf32>, %x: f32, %i: index, %j: index) -> tensor<8xf32> {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  %t, %v = async.region -> (tensor<8xf32>) {
    %r = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %r : tensor<8xf32>
  }
  // CHECK: %[[U:[a-z_0-9]+]] = async.region [%[[T]]] {
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  %u, %w = async.region [%t] -> (tensor<8xf32>) {
    %r = tensor.insert %x into %v[%j] : tensor<8xf32>
    async.yield %r : tensor<8xf32>
  }
  // CHECK: async.await %[[U]]
  async.await %u
  // CHECK-NEXT: return %[[A]]
  return %w : tensor<8xf32>
}

// -----

// What tensors mean does not change with a region around them: the old value is
// read later, so the region writes to a copy.
// CHECK-LABEL: func.func @old_value_is_read_later
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @old_value_is_read_later(%a: tensor<8xf32>, %x: f32, %i: index) -> (tensor<8xf32>, f32) {
  // CHECK: async.region -> (memref<8xf32>) {
  // CHECK: %[[C:[a-z_0-9]+]] = memref.alloc
  // CHECK: memref.copy %[[A]], %[[C]]
  // CHECK: memref.store %{{.*}}, %[[C]]
  %t, %v = async.region -> (tensor<8xf32>) {
    %r = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %r : tensor<8xf32>
  }
  async.await %t
  // CHECK: memref.load %[[A]]
  %y = tensor.extract %a[%i] : tensor<8xf32>
  return %v, %y : tensor<8xf32>, f32
}

// -----

// CHECK-LABEL: func.func @nested_regions
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @nested_regions(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: %[[INNER:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  // CHECK: async.yield %[[INNER]] : !async.token
  %t, %v = async.region -> (tensor<8xf32>) {
    %inner, %w = async.region -> (tensor<8xf32>) {
      %r = tensor.insert %x into %a[%i] : tensor<8xf32>
      async.yield %r : tensor<8xf32>
    }
    async.yield %w, %inner : tensor<8xf32>, !async.token
  }
  // CHECK: async.await %[[T]]
  async.await %t
  // CHECK-NEXT: return %[[A]]
  return %v : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @region_in_loop
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[X:[a-z_0-9]+]]: f32, %[[N:[a-z_0-9]+]]: index)
func.func @region_in_loop(%a: tensor<8xf32>, %x: f32, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for %[[I:[a-z_0-9]+]] =
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: memref.store %[[X]], %[[A]][%[[I]]]
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: }
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<8xf32>) {
    %t, %v = async.region -> (tensor<8xf32>) {
      %r = tensor.insert %x into %b[%i] : tensor<8xf32>
      async.yield %r : tensor<8xf32>
    }
    async.await %t
    scf.yield %v : tensor<8xf32>
  }
  // CHECK: return %[[A]]
  return %r : tensor<8xf32>
}
