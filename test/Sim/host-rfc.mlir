// The first two programs of the MLIR RFC, with what they compute filled in: two matrix multiplications, and a fused addition that
// depends on both.
//
// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -o %t.mlir
// RUN: async-sim %t.mlir --kernel=tensors --arg 0=ramp --arg 1=ramp --arg 2=ramp --arg 3=ramp --print | FileCheck %s
// RUN: async-sim %t.mlir --kernel=tensors --arg 0=ramp --arg 1=ramp --arg 2=ramp --arg 3=ramp --print --schedule=early | FileCheck %s
// RUN: async-sim %t.mlir --kernel=buffers --arg 0=ramp --arg 1=ramp --arg 2=ramp --arg 3=ramp --print | FileCheck %s
// RUN: async-sim %t.mlir --kernel=buffers --arg 0=ramp --arg 1=ramp --arg 2=ramp --arg 3=ramp --print --schedule=random --runs=10 | FileCheck %s
//
// CHECK: clean ({{.*}} of 4 tasks, {{.*}})
// CHECK: argument 4: 4 7 12 23

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>

!t = tensor<2x2xf32>
!m = memref<2x2xf32>

async.func @f(%arg0: !t, %arg1: !t, %arg2: !t, %arg3: tensor<2xf32>) -> (!t, !async.token) {
  %t0, %v0 = async.region -> (!t) {
    %zero = arith.constant 0.0 : f32
    %init = tensor.empty() : !t
    %fill = linalg.fill ins(%zero : f32) outs(%init : !t) -> !t
    %3 = linalg.matmul ins(%arg0, %arg1 : !t, !t) outs(%fill : !t) -> !t
    async.yield %3 : !t
  }
  %t1, %v1 = async.region -> (!t) {
    %zero = arith.constant 0.0 : f32
    %init = tensor.empty() : !t
    %fill = linalg.fill ins(%zero : f32) outs(%init : !t) -> !t
    %3 = linalg.matmul ins(%arg0, %arg2 : !t, !t) outs(%fill : !t) -> !t
    async.yield %3 : !t
  }
  %t2, %v2 = async.region [%t0, %t1] -> (!t) {
    %init = tensor.empty() : !t
    %3 = linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%v0, %v1, %arg3 : !t, !t, tensor<2xf32>) outs(%init : !t) {
    ^bb0(%arg4: f32, %arg5: f32, %arg6: f32, %out: f32):
      %4 = arith.addf %arg4, %arg5 : f32
      %5 = arith.addf %4, %arg6 : f32
      linalg.yield %5 : f32
    } -> !t
    async.yield %3 : !t
  }
  async.yield %v2, %t2 : !t, !async.token
}

func.func @tensors(%a: !t, %b: !t, %c: !t, %bias: tensor<2xf32>, %out: !m) {
  %v, %t = async.call @f(%a, %b, %c, %bias) : (!t, !t, !t, tensor<2xf32>) -> (!t, !async.token)
  async.await %t
  bufferization.materialize_in_destination %v in writable %out : (!t, !m) -> ()
  return
}

async.func @g(%arg0: !m, %arg1: !m, %arg2: !m, %arg3: memref<2xf32>) -> (!m, !async.token) {
  %t0, %v0 = async.region -> (!m) {
    %zero = arith.constant 0.0 : f32
    %3 = memref.alloc() : !m
    linalg.fill ins(%zero : f32) outs(%3 : !m)
    linalg.matmul ins(%arg0, %arg1 : !m, !m) outs(%3 : !m)
    async.yield %3 : !m
  }
  %t1, %v1 = async.region -> (!m) {
    %zero = arith.constant 0.0 : f32
    %3 = memref.alloc() : !m
    linalg.fill ins(%zero : f32) outs(%3 : !m)
    linalg.matmul ins(%arg0, %arg2 : !m, !m) outs(%3 : !m)
    async.yield %3 : !m
  }
  %t2, %v2 = async.region [%t0, %t1] -> (!m) {
    %3 = memref.alloc() : !m
    linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%v0, %v1, %arg3 : !m, !m, memref<2xf32>) outs(%3 : !m) {
    ^bb0(%arg4: f32, %arg5: f32, %arg6: f32, %arg7: f32):
      %4 = arith.addf %arg4, %arg5 : f32
      %5 = arith.addf %4, %arg6 : f32
      linalg.yield %5 : f32
    }
    async.yield %3 : !m
  }
  async.yield %v2, %t2 : !m, !async.token
}

func.func @buffers(%a: !m, %b: !m, %c: !m, %bias: memref<2xf32>, %out: !m) {
  %v, %t = async.call @g(%a, %b, %c, %bias) : (!m, !m, !m, memref<2xf32>) -> (!m, !async.token)
  async.await %t
  memref.copy %v, %out : !m to !m
  return
}
