// Vector operations that LLVM lacks become ones that it has.
//
// RUN: async-opt %s --expand-vectors | FileCheck %s

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: func.func @slice
// CHECK-NOT: extract_strided_slice
// CHECK: vector.extract %{{.*}}[2] : vector<8xf32> from vector<4x8xf32>
// CHECK: vector.shuffle %{{.*}} [4, 5, 6, 7]
// CHECK: return
func.func @slice(%v: vector<4x8xf32>) -> vector<2x4xf32> {
  %high = vector.extract_strided_slice %v {offsets = [2, 4], sizes = [2, 4], strides = [1, 1]}
      : vector<4x8xf32> to vector<2x4xf32>
  return %high : vector<2x4xf32>
}

// CHECK-LABEL: func.func @transpose
// CHECK-NOT: vector.transpose
// CHECK: return
func.func @transpose(%a: vector<2x2xf32>) -> vector<2x2xf32> {
  %r = vector.transpose %a, [1, 0] : vector<2x2xf32> to vector<2x2xf32>
  return %r : vector<2x2xf32>
}

// CHECK-LABEL: func.func @contraction
// CHECK-NOT: vector.contract
// CHECK: vector.fma
// CHECK: return
func.func @contraction(%a: vector<2x3xf32>, %b: vector<3x2xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %r = vector.contract {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<2x3xf32>, vector<3x2xf32> into vector<2x2xf32>
  return %r : vector<2x2xf32>
}

// CHECK-LABEL: func.func @reduction
// CHECK-NOT: vector.multi_reduction
// CHECK: vector.reduction <add>
func.func @reduction(%a: vector<2x4xf32>, %start: f32) -> f32 {
  %r = vector.multi_reduction <add>, %a, %start [0, 1] : vector<2x4xf32> to f32
  return %r : f32
}

// A transfer becomes a load, with a mask if it may reach past the end.
//
// CHECK-LABEL: func.func @transfers
// CHECK: vector.load
// CHECK: vector.maskedload
// CHECK-NOT: vector.transfer_read
// CHECK: return
func.func @transfers(%a: !Buffer, %i: index, %pad: f32) -> vector<4xf32> {
  %v = vector.transfer_read %a[%i], %pad {in_bounds = [true]} : !Buffer, vector<4xf32>
  %w = vector.transfer_read %a[%i], %pad : !Buffer, vector<4xf32>
  %x = arith.addf %v, %w : vector<4xf32>
  return %x : vector<4xf32>
}

// Loads and stores stay: workgroup memory has an address space that --convert-gpu-to-nvvm knows, and the patterns of
// --convert-vector-to-llvm do not.
//
// CHECK-LABEL: func.func @memory
// CHECK: vector.load %{{.*}} : memref<64xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK-NEXT: vector.store %{{.*}} : memref<64xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK-NEXT: return
func.func @memory(%a: !Buffer, %i: index) {
  %v = vector.load %a[%i] : !Buffer, vector<4xf32>
  vector.store %v, %a[%i] : !Buffer, vector<4xf32>
  return
}

// Transfers of several dimensions are for --convert-vector-to-scf, which runs before; one that is left stays as it is.
//
// CHECK-LABEL: func.func @two_dimensions
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: return
func.func @two_dimensions(%a: memref<64x8xf32>, %i: index, %pad: f32) -> vector<4x8xf32> {
  %v = vector.transfer_read %a[%i, %i], %pad {in_bounds = [true, true]} : memref<64x8xf32>, vector<4x8xf32>
  return %v : vector<4x8xf32>
}
