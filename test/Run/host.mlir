// RUN: async-opt run %s --affine-loop-tile="tile-size=2" --canonicalize | FileCheck %s
// RUN: async-opt run %s -O0 --pass-pipeline="builtin.module(func.func(affine-loop-unroll{unroll-factor=2}))" | FileCheck %s
// RUN: async-opt run -O3 --entry main < %s | FileCheck %s

// Tensors, linalg, affine loops, vectors and the functions for printing; passes of the command line come first.

// CHECK:      Unranked Memref base@ = {{.*}} rank = 1 offset = 0 sizes = [4] strides = [1] data =
// CHECK-NEXT: [0, 1, 2, 3]
// CHECK-NEXT: ( 0, 2, 4, 6 )
// CHECK-NEXT: ( 0, 2 )
// CHECK-NEXT: ( 4, 6 )
// CHECK-NEXT: 0.761594

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @printF64(f64)

func.func @double(%t: tensor<4xf32>) -> tensor<4xf32> {
  %init = tensor.empty() : tensor<4xf32>
  %sum = linalg.add ins(%t, %t : tensor<4xf32>, tensor<4xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  return %sum : tensor<4xf32>
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    %n = arith.index_cast %i : index to i32
    %x = arith.sitofp %n : i32 to f32
    affine.store %x, %m[%i] : memref<4xf32>
  }
  %u = memref.cast %m : memref<4xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()

  %t = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  %d = call @double(%t) : (tensor<4xf32>) -> tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %d[%c0], %zero : tensor<4xf32>, vector<4xf32>
  vector.print %v : vector<4xf32>

  // LLVM calls a function for the second where the processor can't.
  %low = vector.extract_strided_slice %v {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  %half = arith.truncf %low : vector<2xf32> to vector<2xf16>
  vector.print %half : vector<2xf16>
  %high = vector.extract_strided_slice %v {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  %bfloat = arith.truncf %high : vector<2xf32> to vector<2xbf16>
  vector.print %bfloat : vector<2xbf16>

  %one = tensor.extract %t[%c1] : tensor<4xf32>
  %y = math.tanh %one : f32
  %z = arith.extf %y : f32 to f64
  call @printF64(%z) : (f64) -> ()
  memref.dealloc %m : memref<4xf32>
  return
}
