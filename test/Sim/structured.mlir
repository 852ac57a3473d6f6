// Structured operations on buffers are lowered to loops before they are run, and those on tensors are not known.
//
// RUN: async-sim %s --kernel=buffers --print | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: buffers: clean
// BUFFERS: argument 0: 7 7 7 7
func.func @buffers(%m: memref<4xi32>) {
  %c7 = arith.constant 7 : i32
  linalg.fill ins(%c7 : i32) outs(%m : memref<4xi32>)
  return
}

// RUN: not async-sim %s --kernel=tensors 2>&1 | FileCheck %s --check-prefix=TENSORS
// TENSORS: error: the interpreter does not know 'tensor.empty'
func.func @tensors(%x: f32) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %t = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}
