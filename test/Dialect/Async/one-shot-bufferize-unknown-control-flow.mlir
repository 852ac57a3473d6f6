// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map allow-unknown-ops" --split-input-file --allow-unregistered-dialect | FileCheck %s

// Nobody knows how often, or in which order, the regions of such an operation
// execute: whatever may follow the region does.

// CHECK-LABEL: func.func @write_before
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_before(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  %b = "test.twice"() ({
    // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
    // CHECK: memref.store %{{.*}}, %[[C]]
    %b = tensor.insert %x into %a[%i] : tensor<8xf32>
    // CHECK: async.region
    %t = async.region {
      %y = tensor.extract %b[%i] : tensor<8xf32>
      "test.use"(%y) : (f32) -> ()
      async.yield
    }
    "test.end"(%i) : (index) -> ()
  }) : () -> index
  return %a : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @write_after
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_after(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  // CHECK: "test.end"
  "test.once"() ({
    %t = async.region {
      %y = tensor.extract %a[%i] : tensor<8xf32>
      "test.use"(%y) : (f32) -> ()
      async.yield
    }
    "test.end"() : () -> ()
  }) : () -> ()
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK: memref.store %{{.*}}, %[[C]]
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// A block without a terminator.
// CHECK-LABEL: "test.graph"
"test.graph"() ({
  %a = tensor.empty() : tensor<8xf32>
  %i = arith.constant 0 : index
  // CHECK: async.region
  %t = async.region {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    "test.use"(%y) : (f32) -> ()
    async.yield
  }
}) : () -> ()
