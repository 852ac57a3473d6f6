// Floating-point numbers of 8 bits, in memory and in conversions.
//
// RUN: async-sim %s --kernel=widened --arg 0=ramp --arg 1=zero --arg 2=zero --print | FileCheck %s --check-prefix=WIDE
// RUN: async-sim %s --kernel=narrowed --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=NARROW
// RUN: async-sim %s --kernel=bits --arg 0=zero --print | FileCheck %s --check-prefix=BITS

// WIDE: widened: clean
// WIDE: argument 1: 0 1 2 3
// WIDE: argument 2: 0 2 4 6
func.func @widened(%from: memref<4xf8E4M3FN>, %out: memref<4xf16>, %sums: memref<4xf8E5M2>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %from[%c0] : memref<4xf8E4M3FN>, vector<4xf8E4M3FN>
  %wide = arith.extf %x : vector<4xf8E4M3FN> to vector<4xf16>
  vector.store %wide, %out[%c0] : memref<4xf16>, vector<4xf16>
  %sum = arith.addf %wide, %wide : vector<4xf16>
  %narrow = arith.truncf %sum : vector<4xf16> to vector<4xf8E5M2>
  vector.store %narrow, %sums[%c0] : memref<4xf8E5M2>, vector<4xf8E5M2>
  return
}

// 17 lies between 16 and 18, and between 16 and 20. 1000 is too large for an f8E4M3FN, which has no infinity.
// NARROW: narrowed: clean
// NARROW: argument 0: 16 448 NaN -0.001953125
// NARROW: argument 1: 16 448 1024 -0.001953125
func.func @narrowed(%e4m3: memref<4xf8E4M3FN>, %e5m2: memref<4xf8E5M2>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<[17.0, 450.0, 1000.0, -0.002]> : vector<4xf32>
  %a = arith.truncf %x : vector<4xf32> to vector<4xf8E4M3FN>
  vector.store %a, %e4m3[%c0] : memref<4xf8E4M3FN>, vector<4xf8E4M3FN>
  %b = arith.truncf %x : vector<4xf32> to vector<4xf8E5M2>
  vector.store %b, %e5m2[%c0] : memref<4xf8E5M2>, vector<4xf8E5M2>
  return
}

// BITS: bits: clean
// BITS: argument 0: 56 60
func.func @bits(%out: memref<2xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f8E4M3FN
  %a = arith.bitcast %one : f8E4M3FN to i8
  memref.store %a, %out[%c0] : memref<2xi8>
  %other = arith.constant dense<1.0> : vector<1xf8E5M2>
  %b = vector.bitcast %other : vector<1xf8E5M2> to vector<1xi8>
  vector.store %b, %out[%c1] : memref<2xi8>, vector<1xi8>
  return
}
