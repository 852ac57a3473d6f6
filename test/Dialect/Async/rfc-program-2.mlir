// RUN: async-opt %s --allow-unregistered-dialect | async-opt --allow-unregistered-dialect | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --mlir-print-op-generic | async-opt --allow-unregistered-dialect | FileCheck %s

// The second program of the MLIR RFC: the first one on buffers.

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: async.func @f
// CHECK-SAME: -> (memref<32x32xf32>, !async.token)
async.func @f(%arg0: memref<32x8xf32>, %arg1: memref<8x32xf32>, %arg2: memref<8x32xf32>, %arg3: memref<32xf32>) -> (memref<32x32xf32>, !async.token) {
  // CHECK: %[[T0:[a-z_0-9]+]], %[[V0:[a-z_0-9]+]] = async.region -> (memref<32x32xf32>) {
  // CHECK-NEXT: %[[M0:[a-z_0-9]+]] = memref.alloc
  // CHECK-NEXT: "xla_lhlo.dot"
  // CHECK-NEXT: async.yield %[[M0]] : memref<32x32xf32>
  %t0, %v0 = async.region -> (memref<32x32xf32>) {
    %3 = memref.alloc() : memref<32x32xf32>
    "xla_lhlo.dot"(%arg0, %arg1, %3) : (memref<32x8xf32>, memref<8x32xf32>, memref<32x32xf32>) -> ()
    async.yield %3 : memref<32x32xf32>
  }
  // CHECK: %[[T1:[a-z_0-9]+]], %[[V1:[a-z_0-9]+]] = async.region -> (memref<32x32xf32>) {
  %t1, %v1 = async.region -> (memref<32x32xf32>) {
    %3 = memref.alloc() : memref<32x32xf32>
    "xla_lhlo.dot"(%arg0, %arg2, %3) : (memref<32x8xf32>, memref<8x32xf32>, memref<32x32xf32>) -> ()
    async.yield %3 : memref<32x32xf32>
  }
  // CHECK: %[[T2:[a-z_0-9]+]], %[[V2:[a-z_0-9]+]] = async.region [%[[T0]], %[[T1]]] -> (memref<32x32xf32>) {
  %t2, %v2 = async.region [%t0, %t1] -> (memref<32x32xf32>) {
    %3 = memref.alloc() : memref<32x32xf32>
    // CHECK: linalg.generic
    // CHECK-SAME: ins(%[[V0]], %[[V1]], %{{.*}} :
    linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%v0, %v1, %arg3 : memref<32x32xf32>, memref<32x32xf32>, memref<32xf32>) outs(%3 : memref<32x32xf32>) {
    ^bb0(%arg4: f32, %arg5: f32, %arg6: f32, %arg7: f32):
      %4 = arith.addf %arg4, %arg5 : f32
      %5 = arith.addf %4, %arg6 : f32
      linalg.yield %5 : f32
    }
    async.yield %3 : memref<32x32xf32>
  }
  // CHECK: async.yield %[[V2]], %[[T2]] : memref<32x32xf32>, !async.token
  async.yield %v2, %t2 : memref<32x32xf32>, !async.token
}
