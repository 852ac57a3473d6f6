// RUN: async-opt run %s | FileCheck %s
// RUN: async-opt run %s -O0 --threads=1 | FileCheck %s

// The first program of the MLIR RFC: two matrix multiplications, and a fused addition that depends on both. Nothing is left alive.

// CHECK-NOT: alive
// CHECK:      rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1] data =
// CHECK-NEXT: {{\[+}}4, 7],
// CHECK-NEXT: [12, 23]

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

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %a = arith.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : !t
  %b = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %out = memref.alloc() : !m
  call @tensors(%a, %a, %a, %b, %out) : (!t, !t, !t, tensor<2xf32>, !m) -> ()
  %u = memref.cast %out : !m to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}
