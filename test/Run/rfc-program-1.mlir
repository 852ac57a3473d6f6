// The first program of the MLIR RFC runs, from tensors: two products and their sum with a bias, in three tasks.

// RUN: async-opt run %s --threads=1 | FileCheck %s
// RUN: async-opt run %s --threads=8 | FileCheck %s
// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --async-lower-to-cpu | FileCheck %s --check-prefix=LOWERED

// LOWERED-NOT: async.

// CHECK: sizes = [2, 2]
// CHECK-NEXT: [23, 42],
// CHECK-NEXT: [50, 96]

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>

async.func @f(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2xf32>, %arg2: tensor<3x2xf32>, %arg3: tensor<2xf32>) -> (tensor<2x2xf32>, !async.token) {
  %zero = arith.constant 0.0 : f32
  %t0, %v0 = async.region -> (tensor<2x2xf32>) {
    %e = tensor.empty() : tensor<2x2xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
    %p = linalg.matmul ins(%arg0, %arg1 : tensor<2x3xf32>, tensor<3x2xf32>) outs(%z : tensor<2x2xf32>) -> tensor<2x2xf32>
    async.yield %p : tensor<2x2xf32>
  }
  %t1, %v1 = async.region -> (tensor<2x2xf32>) {
    %e = tensor.empty() : tensor<2x2xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
    %p = linalg.matmul ins(%arg0, %arg2 : tensor<2x3xf32>, tensor<3x2xf32>) outs(%z : tensor<2x2xf32>) -> tensor<2x2xf32>
    async.yield %p : tensor<2x2xf32>
  }
  %t2, %v2 = async.region [%t0, %t1] -> (tensor<2x2xf32>) {
    %e = tensor.empty() : tensor<2x2xf32>
    %s = linalg.generic {indexing_maps = [#map0, #map0, #map1, #map0], iterator_types = ["parallel", "parallel"]}
        ins(%v0, %v1, %arg3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %x = arith.addf %a, %b : f32
      %y = arith.addf %x, %c : f32
      linalg.yield %y : f32
    } -> tensor<2x2xf32>
    async.yield %s : tensor<2x2xf32>
  }
  async.yield %v2, %t2 : tensor<2x2xf32>, !async.token
}

func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}

func.func @main() {
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %c = arith.constant dense<[[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]> : tensor<3x2xf32>
  %bias = arith.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %r, %t = async.call @f(%a, %b, %c, %bias) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, !async.token)
  async.await %t
  %u = tensor.cast %r : tensor<2x2xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
