// Sums of products of vectors' numbers, and what else makes vectors of vectors.
//
// RUN: async-sim %s --kernel=product --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=PRODUCT
// RUN: async-sim %s --kernel=dot --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=DOT
// RUN: async-sim %s --kernel=narrow --arg 0=zero --print | FileCheck %s --check-prefix=NARROW
// RUN: async-sim %s --kernel=outer --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=OUTER
// RUN: async-sim %s --kernel=reduced --arg 0=ramp --arg 1=zero --arg 2=zero --arg 3=zero --print | FileCheck %s --check-prefix=REDUCED
// RUN: async-sim %s --kernel=masked --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=MASKED
// RUN: async-sim %s --kernel=fused --arg 0=zero --print | FileCheck %s --check-prefix=FUSED
// RUN: async-sim %s --kernel=interleaved --arg 0=ramp --arg 1=zero --arg 2=zero --print | FileCheck %s --check-prefix=INTERLEAVED
// RUN: async-sim %s --kernel=packed --arg 0=ramp --arg 1=zero --arg 2=zero --print | FileCheck %s --check-prefix=PACKED
// RUN: not async-sim %s --kernel=packed_race --block=2 | FileCheck %s --check-prefix=RACE

#rows = affine_map<(i, j, k) -> (i, k)>
#columns = affine_map<(i, j, k) -> (k, j)>
#turned = affine_map<(i, j, k) -> (j, i)>
#sums = affine_map<(i, j, k) -> (i, j)>

// 100 + A B, with the product as it is and transposed.
// PRODUCT: product: clean
// PRODUCT: argument 2: 120 123 126 129 156 168 180 192 120 156 123 168 126 180 129 192
func.func @product(%a: memref<2x3xf32>, %b: memref<3x4xf32>, %out: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %left = vector.load %a[%c0, %c0] : memref<2x3xf32>, vector<2x3xf32>
  %right = vector.load %b[%c0, %c0] : memref<3x4xf32>, vector<3x4xf32>
  %start = arith.constant dense<100.0> : vector<2x4xf32>
  %product = vector.contract {indexing_maps = [#rows, #columns, #sums],
      iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
      %left, %right, %start : vector<2x3xf32>, vector<3x4xf32> into vector<2x4xf32>
  %flat = vector.shape_cast %product : vector<2x4xf32> to vector<8xf32>
  vector.store %flat, %out[%c0] : memref<16xf32>, vector<8xf32>
  %other = arith.constant dense<100.0> : vector<4x2xf32>
  %transposed = vector.contract {indexing_maps = [#rows, #columns, #turned],
      iterator_types = ["parallel", "parallel", "reduction"]}
      %left, %right, %other : vector<2x3xf32>, vector<3x4xf32> into vector<4x2xf32>
  %row = vector.shape_cast %transposed : vector<4x2xf32> to vector<8xf32>
  vector.store %row, %out[%c8] : memref<16xf32>, vector<8xf32>
  return
}

#all = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// 0 + 1 + 4 + 9 + 5; the greatest of 0, 1, 4, 9 and 5.
// DOT: dot: clean
// DOT: argument 1: 19 9
func.func @dot(%a: memref<4xf32>, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %five = arith.constant 5.0 : f32
  %v = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
  %sum = vector.contract {indexing_maps = [#all, #all, #none], iterator_types = ["reduction"]}
      %v, %v, %five : vector<4xf32>, vector<4xf32> into f32
  memref.store %sum, %out[%c0] : memref<2xf32>
  %max = vector.contract {indexing_maps = [#all, #all, #none], iterator_types = ["reduction"],
      kind = #vector.kind<maxnumf>} %v, %v, %five : vector<4xf32>, vector<4xf32> into f32
  memref.store %max, %out[%c1] : memref<2xf32>
  return
}

// Numbers of 8 bits have a sign: -128 * 127 + -1 * 2.
// NARROW: narrow: clean
// NARROW: argument 0: -16258
func.func @narrow(%out: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %a = arith.constant dense<[-128, -1]> : vector<2xi8>
  %b = arith.constant dense<[127, 2]> : vector<2xi8>
  %sum = vector.contract {indexing_maps = [#all, #all, #none], iterator_types = ["reduction"]}
      %a, %b, %zero : vector<2xi8>, vector<2xi8> into i32
  memref.store %sum, %out[%c0] : memref<1xi32>
  return
}

// OUTER: outer: clean
// OUTER: argument 0: 10 21 22 43 34 65
// OUTER: argument 1: 10 20 20 40 7 14
func.func @outer(%out: memref<6xi32>, %more: memref<6xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = arith.constant dense<[1, 2, 3]> : vector<3xi32>
  %b = arith.constant dense<[10, 20]> : vector<2xi32>
  %start = arith.constant dense<[[0, 1], [2, 3], [4, 5]]> : vector<3x2xi32>
  %seven = arith.constant 7 : i32
  %sums = vector.outerproduct %a, %b, %start : vector<3xi32>, vector<2xi32>
  %flat = vector.shape_cast %sums : vector<3x2xi32> to vector<6xi32>
  vector.store %flat, %out[%c0] : memref<6xi32>, vector<6xi32>
  // Without anything to add to; and by a number.
  %two = vector.extract_strided_slice %a {offsets = [0], sizes = [2], strides = [1]} : vector<3xi32> to vector<2xi32>
  %products = vector.outerproduct %two, %b : vector<2xi32>, vector<2xi32>
  %four = vector.shape_cast %products : vector<2x2xi32> to vector<4xi32>
  vector.store %four, %more[%c0] : memref<6xi32>, vector<4xi32>
  %scaled = vector.outerproduct %two, %seven : vector<2xi32>, i32
  vector.store %scaled, %more[%c4] : memref<6xi32>, vector<2xi32>
  return
}

// Over the first and the last dimension, over the middle one, and over all.
// REDUCED: reduced: clean
// REDUCED: argument 1: 61 93 125
// REDUCED: argument 2: 8 9 10 11 20 21 22 23
// REDUCED: argument 3: 281
func.func @reduced(%m: memref<2x3x4xf32>, %sums: memref<3xf32>, %greatest: memref<2x4xf32>, %all: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %m[%c0, %c0, %c0] : memref<2x3x4xf32>, vector<2x3x4xf32>
  %one = arith.constant dense<1.0> : vector<3xf32>
  %s = vector.multi_reduction <add>, %v, %one [0, 2] : vector<2x3x4xf32> to vector<3xf32>
  vector.store %s, %sums[%c0] : memref<3xf32>, vector<3xf32>
  %low = arith.constant dense<0.0> : vector<2x4xf32>
  %g = vector.multi_reduction <maximumf>, %v, %low [1] : vector<2x3x4xf32> to vector<2x4xf32>
  vector.store %g, %greatest[%c0, %c0] : memref<2x4xf32>, vector<2x4xf32>
  %five = arith.constant 5.0 : f32
  %a = vector.multi_reduction <add>, %v, %five [0, 1, 2] : vector<2x3x4xf32> to f32
  memref.store %a, %all[%c0] : memref<1xf32>
  return
}

// Rows 0 and 1 of three, and columns 0 and 1 of three, count: 1 2 3 / 4 5 6 / 7 8 9.
// MASKED: masked: clean
// MASKED: argument 0: 5 7 0
// MASKED: argument 1: 12
func.func @masked(%out: memref<3xi32>, %sum: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %zeros = arith.constant dense<0> : vector<3xi32>
  %zero = arith.constant 0 : i32
  %v = arith.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : vector<3x3xi32>
  %mask = vector.create_mask %c2, %c2 : vector<3x3xi1>
  %r = vector.mask %mask { vector.multi_reduction <add>, %v, %zeros [0] : vector<3x3xi32> to vector<3xi32> } : vector<3x3xi1> -> vector<3xi32>
  vector.store %r, %out[%c0] : memref<3xi32>, vector<3xi32>
  %a = arith.constant dense<[2, 2, 1000]> : vector<3xi32>
  %b = arith.constant dense<[1, 5, 1000]> : vector<3xi32>
  %some = vector.create_mask %c2 : vector<3xi1>
  %d = vector.mask %some { vector.contract {indexing_maps = [#all, #all, #none], iterator_types = ["reduction"]}
      %a, %b, %zero : vector<3xi32>, vector<3xi32> into i32 } : vector<3xi1> -> i32
  memref.store %d, %sum[%c0] : memref<1xi32>
  return
}

// (1 + 2⁻¹²)² = 1 + 2⁻¹¹ + 2⁻²⁴; rounded to an f32, the last part is lost, and the difference with it.
// FUSED: fused: clean
// FUSED: argument 0: 0.00000005960464477539063
func.func @fused(%out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.000244140625> : vector<1xf32>
  %start = arith.constant -1.00048828125 : f32
  %d = vector.contract {indexing_maps = [#all, #all, #none], iterator_types = ["reduction"]}
      %x, %x, %start : vector<1xf32>, vector<1xf32> into f32
  memref.store %d, %out[%c0] : memref<1xf32>
  return
}

// INTERLEAVED: interleaved: clean
// INTERLEAVED: argument 1: 0 2 1 3 4 6 5 7
// INTERLEAVED: argument 2: 0 2 1 3 0 1 2 3
func.func @interleaved(%m: memref<8xi32>, %out: memref<8xi32>, %more: memref<8xindex>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = vector.load %m[%c0] : memref<8xi32>, vector<8xi32>
  %square = vector.shape_cast %v : vector<8xi32> to vector<2x4xi32>
  %even, %odd = vector.deinterleave %square : vector<2x4xi32> -> vector<2x2xi32>
  // 0 2 / 4 6 and 1 3 / 5 7, one after the other.
  %both = vector.interleave %even, %odd : vector<2x2xi32> -> vector<2x4xi32>
  %first, %second = vector.deinterleave %both : vector<2x4xi32> -> vector<2x2xi32>
  %f = vector.shape_cast %first : vector<2x2xi32> to vector<4xi32>
  %s = vector.shape_cast %second : vector<2x2xi32> to vector<4xi32>
  // 0 2 4 6 and 1 3 5 7.
  %rows = vector.shuffle %f, %s [0, 1, 4, 5, 2, 3, 6, 7] : vector<4xi32>, vector<4xi32>
  vector.store %rows, %out[%c0] : memref<8xi32>, vector<8xi32>
  %steps = vector.step : vector<4xindex>
  %low = vector.extract_strided_slice %rows {offsets = [0], sizes = [4], strides = [1]} : vector<8xi32> to vector<4xi32>
  %wide = arith.index_cast %low : vector<4xi32> to vector<4xindex>
  vector.store %wide, %more[%c0] : memref<8xindex>, vector<4xindex>
  vector.store %steps, %more[%c4] : memref<8xindex>, vector<4xindex>
  return
}

// Elements in a row go to where the mask is set, and back. What lies after them is left alone.
// PACKED: packed: clean
// PACKED: argument 1: 10 11 -1 12 -1
// PACKED: argument 2: 0 10 12 0 0 0
func.func @packed(%m: memref<16xi32>, %out: memref<5xi32>, %row: memref<6xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %none = arith.constant dense<-1> : vector<5xi32>
  %mask = arith.constant dense<[true, true, false, true, false]> : vector<5xi1>
  %v = vector.expandload %m[%c10], %mask, %none : memref<16xi32>, vector<5xi1>, vector<5xi32> into vector<5xi32>
  vector.store %v, %out[%c0] : memref<5xi32>, vector<5xi32>
  %some = arith.constant dense<[true, false, false, true, false]> : vector<5xi1>
  vector.compressstore %row[%c1], %some, %v : memref<6xi32>, vector<5xi1>, vector<5xi32>
  return
}

// Two threads store to the element after the first one.
// RACE: error: WAW race: vector.compressstore writes where another thread writes
// RACE: on: bytes 4 to 7 of argument 0
func.func @packed_race(%row: memref<6xi32>) {
  %t = gpu.thread_id x
  %mask = arith.constant dense<[true, false, true]> : vector<3xi1>
  %v = arith.constant dense<7> : vector<3xi32>
  vector.compressstore %row[%t], %mask, %v : memref<6xi32>, vector<3xi1>, vector<3xi32>
  return
}
