// RUN: async-opt %s --allow-unregistered-dialect | async-opt --allow-unregistered-dialect | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --mlir-print-op-generic | async-opt --allow-unregistered-dialect | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// The first program of the MLIR RFC that proposed the dialect: two matrix
// multiplications, and a fused addition that depends on both.

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: async.func @f
// CHECK-SAME: -> (tensor<32x32xf32>, !async.token)
// GENERIC: "async.func"() <{function_type = (tensor<32x8xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<32xf32>) -> (tensor<32x32xf32>, !async.token), sym_name = "f"}> ({
async.func @f(%arg0: tensor<32x8xf32>, %arg1: tensor<8x32xf32>, %arg2: tensor<8x32xf32>, %arg3: tensor<32xf32>) -> (tensor<32x32xf32>, !async.token) {
  // CHECK: %[[T0:[a-z_0-9]+]], %[[V0:[a-z_0-9]+]] = async.region -> (tensor<32x32xf32>) {
  // CHECK: async.yield %{{.*}} : tensor<32x32xf32>
  // GENERIC: %[[R0:[a-z_0-9]+]]:2 = "async.region"() ({
  // GENERIC: "async.yield"(%{{.*}}) : (tensor<32x32xf32>) -> ()
  // GENERIC: }) : () -> (!async.token, tensor<32x32xf32>)
  %t0, %v0 = async.region -> (tensor<32x32xf32>) {
    %3 = "xla_hlo.dot"(%arg0, %arg1) : (tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
    async.yield %3 : tensor<32x32xf32>
  }
  // CHECK: %[[T1:[a-z_0-9]+]], %[[V1:[a-z_0-9]+]] = async.region -> (tensor<32x32xf32>) {
  // GENERIC: %[[R1:[a-z_0-9]+]]:2 = "async.region"() ({
  %t1, %v1 = async.region -> (tensor<32x32xf32>) {
    %3 = "xla_hlo.dot"(%arg0, %arg2) : (tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
    async.yield %3 : tensor<32x32xf32>
  }
  // CHECK: %[[T2:[a-z_0-9]+]], %[[V2:[a-z_0-9]+]] = async.region [%[[T0]], %[[T1]]] -> (tensor<32x32xf32>) {
  // CHECK: linalg.generic
  // CHECK-SAME: ins(%[[V0]], %[[V1]], %{{.*}} :
  // GENERIC: %[[R2:[a-z_0-9]+]]:2 = "async.region"(%[[R0]]#0, %[[R1]]#0) ({
  // GENERIC: }) : (!async.token, !async.token) -> (!async.token, tensor<32x32xf32>)
  %t2, %v2 = async.region [%t0, %t1] -> (tensor<32x32xf32>) {
    %init = tensor.empty() : tensor<32x32xf32>
    %3 = linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%v0, %v1, %arg3 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%arg4: f32, %arg5: f32, %arg6: f32, %out: f32):
      %4 = arith.addf %arg4, %arg5 : f32
      %5 = arith.addf %4, %arg6 : f32
      linalg.yield %5 : f32
    } -> tensor<32x32xf32>
    async.yield %3 : tensor<32x32xf32>
  }
  // CHECK: async.yield %[[V2]], %[[T2]] : tensor<32x32xf32>, !async.token
  // GENERIC: "async.yield"(%[[R2]]#1, %[[R2]]#0) : (tensor<32x32xf32>, !async.token) -> ()
  async.yield %v2, %t2 : tensor<32x32xf32>, !async.token
}
