// RUN: async-opt %s --allow-unregistered-dialect | FileCheck %s

// The second program of the MLIR RFC with its operations in generic form, as it
// was written there.

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: async.func @f
async.func @f(%arg0: memref<32x8xf32>, %arg1: memref<8x32xf32>, %arg2: memref<8x32xf32>, %arg3: memref<32xf32>) -> (memref<32x32xf32>, !async.token) {
  // CHECK: %[[T0:[a-z_0-9]+]], %[[V0:[a-z_0-9]+]] = async.region -> (memref<32x32xf32>) {
  %0:2 = "async.region"() ({
    %3 = memref.alloc() : memref<32x32xf32>
    "xla_lhlo.dot"(%arg0, %arg1, %3) : (memref<32x8xf32>, memref<8x32xf32>, memref<32x32xf32>) -> ()
    "async.yield"(%3) : (memref<32x32xf32>) -> ()
  }) : () -> (!async.token, memref<32x32xf32>)
  // CHECK: %[[T1:[a-z_0-9]+]], %[[V1:[a-z_0-9]+]] = async.region -> (memref<32x32xf32>) {
  %1:2 = "async.region"() ({
    %3 = memref.alloc() : memref<32x32xf32>
    "xla_lhlo.dot"(%arg0, %arg2, %3) : (memref<32x8xf32>, memref<8x32xf32>, memref<32x32xf32>) -> ()
    "async.yield"(%3) : (memref<32x32xf32>) -> ()
  }) : () -> (!async.token, memref<32x32xf32>)
  // CHECK: %[[T2:[a-z_0-9]+]], %[[V2:[a-z_0-9]+]] = async.region [%[[T0]], %[[T1]]] -> (memref<32x32xf32>) {
  %2:2 = "async.region"(%0#0, %1#0) ({
    %3 = memref.alloc() : memref<32x32xf32>
    linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%0#1, %1#1, %arg3 : memref<32x32xf32>, memref<32x32xf32>, memref<32xf32>) outs(%3 : memref<32x32xf32>) {
    ^bb0(%arg4: f32, %arg5: f32, %arg6: f32, %arg7: f32):
      %4 = arith.addf %arg4, %arg5 : f32
      %5 = arith.addf %4, %arg6 : f32
      linalg.yield %5 : f32
    }
    "async.yield"(%3) : (memref<32x32xf32>) -> ()
  }) : (!async.token, !async.token) -> (!async.token, memref<32x32xf32>)
  // CHECK: async.yield %[[V2]], %[[T2]] : memref<32x32xf32>, !async.token
  "async.yield"(%2#1, %2#0) : (memref<32x32xf32>, !async.token) -> ()
}
