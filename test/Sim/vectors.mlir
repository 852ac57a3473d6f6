// Vectors, and views of memrefs, as vectorisers and other lowerings write them.
//
// RUN: async-sim %s --kernel=transfers --arg 0=ramp --arg 1=zero --arg 2=9 --print | FileCheck %s --check-prefix=TRANSFER
// RUN: async-sim %s --kernel=picks --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=PICK
// RUN: async-sim %s --kernel=computed_positions --arg 0=ramp --arg 1=1 --arg 2=2 --arg 3=zero --print | FileCheck %s --check-prefix=COMPUTED
// RUN: async-sim %s --kernel=views --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=VIEW
// RUN: async-sim %s --kernel=copies --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=COPY
// RUN: not async-sim %s --kernel=turned 2>&1 | FileCheck %s --check-prefix=TURNED

// What is out of bounds is padded when it is read, and left alone when it is written.
// TRANSFER: transfers: clean
// TRANSFER: argument 1: 10 11 9 9 14 15 9 9 2 6 10 14 0 4
func.func @transfers(%m: memref<4x4xf32>, %out: memref<14xf32>, %pad: f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %corner = vector.transfer_read %m[%c2, %c2], %pad : memref<4x4xf32>, vector<2x4xf32>
  %flat = vector.shape_cast %corner : vector<2x4xf32> to vector<8xf32>
  vector.transfer_write %flat, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<14xf32>
  %column = vector.transfer_read %m[%c0, %c2], %pad {permutation_map = affine_map<(i, j) -> (i)>} : memref<4x4xf32>, vector<4xf32>
  vector.transfer_write %column, %out[%c8] : vector<4xf32>, memref<14xf32>
  %first = vector.transfer_read %m[%c0, %c0], %pad {permutation_map = affine_map<(i, j) -> (i)>} : memref<4x4xf32>, vector<4xf32>
  vector.transfer_write %first, %out[%c12] : vector<4xf32>, memref<14xf32>
  return
}

// A copy of memrefs, by the thread that executes it.
// COPY: copies: clean
// COPY: argument 1: 6 7 10 11 0
func.func @copies(%m: memref<4x4xf32>, %out: memref<5xf32>) {
  %part = memref.subview %m[1, 2] [2, 2] [1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1], offset: 6>>
  %to = memref.reinterpret_cast %out to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<5xf32> to memref<2x2xf32, strided<[2, 1]>>
  memref.copy %part, %to : memref<2x2xf32, strided<[4, 1], offset: 6>> to memref<2x2xf32, strided<[2, 1]>>
  return
}

// PICK: picks: clean
// PICK: argument 1: 0 4 1 5 45 6 1 1 2 2 6.25 7
func.func @picks(%m: memref<4x4xf32>, %out: memref<12xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c10 = arith.constant 10 : index
  %seven = arith.constant 7.0 : f32
  %tile = vector.load %m[%c0, %c0] : memref<4x4xf32>, vector<2x2xf32>
  %turned = vector.transpose %tile, [1, 0] : vector<2x2xf32> to vector<2x2xf32>
  %rows = vector.shape_cast %turned : vector<2x2xf32> to vector<4xf32>
  vector.store %rows, %out[%c0] : memref<12xf32>, vector<4xf32>
  %sum_of_all = vector.load %m[%c0, %c0] : memref<4x4xf32>, vector<3x3xf32>
  %nine = vector.shape_cast %sum_of_all : vector<3x3xf32> to vector<9xf32>
  %sum = vector.reduction <add>, %nine : vector<9xf32> into f32
  memref.store %sum, %out[%c4] : memref<12xf32>
  %six = vector.extract %nine[%c5] : f32 from vector<9xf32>
  memref.store %six, %out[%c5] : memref<12xf32>
  %pair = vector.load %m[%c0, %c1] : memref<4x4xf32>, vector<2xf32>
  %column = vector.shape_cast %pair : vector<2xf32> to vector<2x1xf32>
  %stretched = vector.broadcast %column : vector<2x1xf32> to vector<2x2xf32>
  %four = vector.shape_cast %stretched : vector<2x2xf32> to vector<4xf32>
  vector.store %four, %out[%c6] : memref<12xf32>, vector<4xf32>
  %five = vector.extract_strided_slice %rows {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  %changed = vector.insert %seven, %five[%c0] : f32 into vector<2xf32>
  %swapped = vector.shuffle %changed, %rows [5, 0] : vector<2xf32>, vector<4xf32>
  %bits = vector.bitcast %swapped : vector<2xf32> to vector<4xf16>
  %back = vector.bitcast %bits : vector<4xf16> to vector<2xf32>
  %odd = vector.insert_strided_slice %back, %pair {offsets = [0], strides = [1]} : vector<2xf32> into vector<2xf32>
  %last = arith.addf %odd, %odd : vector<2xf32>
  %half = arith.constant dense<[0.625, 0.5]> : vector<2xf32>
  %elements:2 = vector.to_elements %last : vector<2xf32>
  %again = vector.from_elements %elements#0, %elements#1 : vector<2xf32>
  %end = arith.mulf %again, %half : vector<2xf32>
  vector.store %end, %out[%c10] : memref<12xf32>, vector<2xf32>
  return
}

// Positions that are computed, in all dimensions or some.
// COMPUTED: computed_positions: clean
// COMPUTED: argument 3: 6 8 9 10 11 2 6 10 20 20 10 11
func.func @computed_positions(%m: memref<4x4xf32>, %one: index, %two: index, %out: memref<12xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %twenty = arith.constant 20.0 : f32
  %tile = vector.load %m[%c0, %c0] : memref<4x4xf32>, vector<4x4xf32>
  %number = vector.extract %tile[%one, %two] : f32 from vector<4x4xf32>
  memref.store %number, %out[%c0] : memref<12xf32>
  %row = vector.extract %tile[%two] : vector<4xf32> from vector<4x4xf32>
  vector.store %row, %out[%c1] : memref<12xf32>, vector<4xf32>
  %turned = vector.transpose %tile, [1, 0] : vector<4x4xf32> to vector<4x4xf32>
  %three = vector.extract_strided_slice %turned {offsets = [0, 0], sizes = [4, 3], strides = [1, 1]} : vector<4x4xf32> to vector<4x3xf32>
  %column = vector.extract %three[%two] : vector<3xf32> from vector<4x3xf32>
  vector.store %column, %out[%c5] : memref<12xf32>, vector<3xf32>
  %changed = vector.insert %twenty, %tile[%two, 1] : f32 into vector<4x4xf32>
  %twice = vector.insert %twenty, %changed[2, %c0] : f32 into vector<4x4xf32>
  %other = vector.insert %row, %twice[%one] : vector<4xf32> into vector<4x4xf32>
  %last = vector.extract %other[%two] : vector<4xf32> from vector<4x4xf32>
  vector.store %last, %out[%c8] : memref<12xf32>, vector<4xf32>
  return
}

// VIEW: views: clean
// VIEW: argument 1: 7 13 5 9 2
func.func @views(%m: memref<4x4xf32>, %out: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %flat = memref.collapse_shape %m [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  %a = memref.load %flat[%c7] : memref<16xf32>
  memref.store %a, %out[%c0] : memref<5xf32>
  %turned = memref.transpose %m (i, j) -> (j, i) : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  %b = memref.load %turned[%c1, %c3] : memref<4x4xf32, strided<[1, 4]>>
  memref.store %b, %out[%c1] : memref<5xf32>
  %open = memref.cast %flat : memref<16xf32> to memref<?xf32>
  %deep = memref.expand_shape %open [[0, 1, 2]] output_shape [%c4, 2, 2] : memref<?xf32> into memref<?x2x2xf32>
  %c = memref.load %deep[%c1, %c0, %c1] : memref<?x2x2xf32>
  memref.store %c, %out[%c2] : memref<5xf32>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %m
      : memref<4x4xf32> -> memref<f32>, index, index, index, index, index
  %other = memref.reinterpret_cast %base to offset: [1], sizes: [3, 2], strides: [%strides#0, 1]
      : memref<f32> to memref<3x2xf32, strided<[?, 1], offset: 1>>
  %d = memref.load %other[%c2, %c0] : memref<3x2xf32, strided<[?, 1], offset: 1>>
  memref.store %d, %out[%c3] : memref<5xf32>
  %row = memref.subview %m[0, 1] [1, 3] [1, 1] : memref<4x4xf32> to memref<3xf32, strided<[1], offset: 1>>
  %e = memref.load %row[%c1] : memref<3xf32, strided<[1], offset: 1>>
  memref.store %e, %out[%c4] : memref<5xf32>
  return
}

// The stride tells which dimension of size 1 is left, and a parameter may begin past its buffer's start.
//
// RUN: async-sim %s --kernel=descriptors --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=DESCRIPTOR
// DESCRIPTOR: descriptors: clean
// DESCRIPTOR: argument 2: 8 7 5
func.func @descriptors(%m: memref<4x8xf32>, %n: memref<4xf32, strided<[1], offset: 6>>, %out: memref<3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %column = memref.subview %m[0, 0] [1, 1] [1, 1] : memref<4x8xf32> to memref<1xf32, strided<[8]>>
  %base, %offset, %size, %stride = memref.extract_strided_metadata %column : memref<1xf32, strided<[8]>> -> memref<f32>, index, index, index
  %two = memref.reinterpret_cast %base to offset: [0], sizes: [2], strides: [%stride] : memref<f32> to memref<2xf32, strided<[?]>>
  %a = memref.load %two[%c1] : memref<2xf32, strided<[?]>>
  memref.store %a, %out[%c0] : memref<3xf32>
  %b = memref.load %n[%c1] : memref<4xf32, strided<[1], offset: 6>>
  memref.store %b, %out[%c1] : memref<3xf32>
  %tile = vector.load %m[%c0, %c0] : memref<4x8xf32>, vector<2x2xf32>
  %flat = vector.shape_cast %tile : vector<2x2xf32> to vector<4xf32>
  %x = vector.extract %flat[%c2] : f32 from vector<4xf32>
  %minus_3 = arith.constant -3.0 : f32
  %c = arith.addf %x, %minus_3 : f32
  memref.store %c, %out[%c2] : memref<3xf32>
  return
}

// A position that is out of bounds makes poison.
//
// RUN: not async-sim %s --kernel=beyond --arg 0=2 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: memref.store: an operand holds no value on this path
func.func @beyond(%i: index, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : vector<2x2xf32>
  %a = vector.extract %v[0, %i] : f32 from vector<2x2xf32>
  memref.store %a, %out[%c0] : memref<1xf32>
  return
}

// TURNED: error: the interpreter has no memrefs laid out as {{.*}} is
func.func @turned(%m: memref<4x4xf32, affine_map<(i, j) -> (j, i)>>) {
  return
}
