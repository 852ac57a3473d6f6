// Conversions as the PTX ISA's cvt does them.
//
// RUN: async-sim %s --kernel=to_fp8 --arg 0=zero --print | FileCheck %s --check-prefix=FP8
// RUN: async-sim %s --kernel=to_fp4_and_fp6 --arg 0=zero --print | FileCheck %s --check-prefix=FP4
// RUN: async-sim %s --kernel=to_half --arg 0=zero --print | FileCheck %s --check-prefix=HALF
// RUN: async-sim %s --kernel=and_back --arg 0=zero --print | FileCheck %s --check-prefix=BACK
// RUN: async-sim %s --kernel=to_tf32 --arg 0=zero --print | FileCheck %s --check-prefix=TF32
// RUN: async-sim %s --kernel=all_small --print --out 0=%t.0.npy --out 1=%t.1.npy --out 2=%t.2.npy --out 3=%t.3.npy | FileCheck %s --check-prefix=SMALL
// RUN: async-opt %s --canonicalize | async-sim --kernel=all_small --out 0=%t.0f.npy --out 1=%t.1f.npy --out 2=%t.2f.npy --out 3=%t.3f.npy
// RUN: cmp %t.0.npy %t.0f.npy
// RUN: cmp %t.1.npy %t.1f.npy
// RUN: cmp %t.2.npy %t.2f.npy
// RUN: cmp %t.3.npy %t.3f.npy
// RUN: not async-sim %s --kernel=stochastic 2>&1 | FileCheck %s --check-prefix=RANDOM

// The second operand is in the low bits. 2.0 is 0x40 in both types; 1000 is the largest e4m3, 0x7E, and 1024, 0x64, as an e5m2; -1
// is 0xB8, or 0 if what is negative is. 2³ and 2⁻¹ as scales are 130 and 126, where 0.6 is rounded up to 1, 127.
// FP8: to_fp8: clean
// FP8: argument 0: 64 126 64 100 -72 64 0 64 -126 127
func.func @to_fp8(%out: memref<10xi8>) {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %large = arith.constant 1000.0 : f32
  %minus = arith.constant -1.0 : f32
  %eight = arith.constant 8.0 : f32
  %part = arith.constant 0.6 : f32
  %a = nvvm.convert.f32x2.to.f8x2 %large, %two {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : vector<2xi8> (f8E4M3FN)
  %b = nvvm.convert.f32x2.to.f8x2 %large, %two {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E5M2)
  %b2 = llvm.bitcast %b : i16 to vector<2xi8>
  %h = arith.constant dense<[-1.0, 2.0]> : vector<2xf16>
  %c = nvvm.convert.f16x2.to.f8x2 %h : vector<2xf16> -> vector<2xi8> (f8E4M3FN)
  %d = nvvm.convert.f16x2.to.f8x2 %h {relu = true} : vector<2xf16> -> vector<2xi8> (f8E4M3FN)
  %e = nvvm.convert.f32x2.to.f8x2 %part, %eight {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : vector<2xi8> (f8E8M0FNU)
  vector.store %a, %out[%c0] : memref<10xi8>, vector<2xi8>
  %c2 = arith.constant 2 : index
  vector.store %b2, %out[%c2] : memref<10xi8>, vector<2xi8>
  %c4 = arith.constant 4 : index
  vector.store %c, %out[%c4] : memref<10xi8>, vector<2xi8>
  %c6 = arith.constant 6 : index
  vector.store %d, %out[%c6] : memref<10xi8>, vector<2xi8>
  %c8 = arith.constant 8 : index
  vector.store %e, %out[%c8] : memref<10xi8>, vector<2xi8>
  return
}

// 1 is 0b0010 and 100 is 6, 0b0111; -1 is 0b101000 in e2m3, and 100 is 28, 0b011111, in e3m2.
// FP4: to_fp4_and_fp6: clean
// FP4: argument 0: 114 40 31
func.func @to_fp4_and_fp6(%out: memref<3xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %minus = arith.constant -1.0 : f32
  %large = arith.constant 100.0 : f32
  %a = nvvm.convert.f32x2.to.f4x2 %large, %one : i8 (f4E2M1FN)
  memref.store %a, %out[%c0] : memref<3xi8>
  %b = nvvm.convert.f32x2.to.f6x2 %large, %minus : vector<2xi8> (f6E2M3FN)
  %b0 = vector.extract %b[0] : i8 from vector<2xi8>
  memref.store %b0, %out[%c1] : memref<3xi8>
  %c = nvvm.convert.f32x2.to.f6x2 %large, %minus {relu = true} : vector<2xi8> (f6E3M2FN)
  %c3 = vector.extract %c[1] : i8 from vector<2xi8>
  memref.store %c3, %out[%c2] : memref<3xi8>
  return
}

// 1 + 2⁻¹¹ + 2⁻¹² lies above the middle of 1 and 1 + 2⁻¹⁰.
// HALF: to_half: clean
// HALF: argument 0: 1.0009765625 -0.5 1 0
func.func @to_half(%out: memref<4xf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %x = arith.constant 1.000732421875 : f32
  %minus = arith.constant -0.5 : f32
  %a = nvvm.convert.f32x2.to.f16x2 %minus, %x {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
  %b = nvvm.convert.f32x2.to.f16x2 %minus, %x {rnd = #nvvm.fp_rnd_mode<rz>, relu = true} : vector<2xf16>
  vector.store %a, %out[%c0] : memref<4xf16>, vector<2xf16>
  vector.store %b, %out[%c2] : memref<4xf16>, vector<2xf16>
  return
}

// BACK: and_back: clean
// BACK: argument 0: 2 448 1 6 -1 7.5
func.func @and_back(%out: memref<6xf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %x = arith.constant dense<[64, 126]> : vector<2xi8>
  %a = nvvm.convert.f8x2.to.f16x2 %x : vector<2xi8> (f8E4M3FN) -> vector<2xf16>
  vector.store %a, %out[%c0] : memref<6xf16>, vector<2xf16>
  %y = arith.constant 114 : i8
  %b = nvvm.convert.f4x2.to.f16x2 %y : i8 (f4E2M1FN) -> vector<2xf16>
  vector.store %b, %out[%c2] : memref<6xf16>, vector<2xf16>
  %z = arith.constant dense<[40, 31]> : vector<2xi8>
  %c = nvvm.convert.f6x2.to.f16x2 %z : vector<2xi8> (f6E2M3FN) -> vector<2xf16>
  vector.store %c, %out[%c4] : memref<6xf16>, vector<2xf16>
  return
}

// 1 + 2⁻¹¹ is in the middle: away from 0, to even, to 0.
// TF32: to_tf32: clean
// TF32: argument 0: 1.0009765625 1 1 -1.0009765625
func.func @to_tf32(%out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.00048828125 : f32
  %y = arith.constant -1.00048828125 : f32
  %a = nvvm.convert.float.to.tf32 %x {rnd = #nvvm.fp_rnd_mode<rna>}
  %b = nvvm.convert.float.to.tf32 %x {rnd = #nvvm.fp_rnd_mode<rn>}
  %c = nvvm.convert.float.to.tf32 %x {rnd = #nvvm.fp_rnd_mode<rz>}
  %d = nvvm.convert.float.to.tf32 %y {rnd = #nvvm.fp_rnd_mode<rna>}
  %bits = vector.from_elements %a, %b, %c, %d : vector<4xi32>
  %row = vector.bitcast %bits : vector<4xi32> to vector<4xf32>
  vector.store %row, %out[%c0] : memref<4xf32>, vector<4xf32>
  return
}

// Every number of the small types (a NaN may have any bits), which MLIR folds to an f32: the same as what is interpreted.
// SMALL: all_small: clean
// SMALL: argument 0: 0 0.5 1 1.5 2 3 4 6 -0 -0.5 -1 -1.5 -2 -3 -4 -6
// SMALL: argument 1: 0 0.125 0.25 {{.*}} 7.5 -0 {{.*}} -7.5
// SMALL: argument 2: 0 0.0625 0.125 {{.*}} 28 -0 {{.*}} -28
// SMALL: argument 3: 0.00000000000000000000000000000000000000587{{.*}} 1 2 4 8 {{.*}}
func.func @all_small(%fp4: memref<16xf32>, %e2m3: memref<64xf32>, %e3m2: memref<64xf32>, %scales: memref<255xf32>) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F"> : vector<16xf4E2M1FN>
  %a32 = arith.extf %a : vector<16xf4E2M1FN> to vector<16xf32>
  vector.store %a32, %fp4[%c0] : memref<16xf32>, vector<16xf32>
  %b = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F"> : vector<64xf6E2M3FN>
  %b32 = arith.extf %b : vector<64xf6E2M3FN> to vector<64xf32>
  vector.store %b32, %e2m3[%c0] : memref<64xf32>, vector<64xf32>
  %c = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F"> : vector<64xf6E3M2FN>
  %c32 = arith.extf %c : vector<64xf6E3M2FN> to vector<64xf32>
  vector.store %c32, %e3m2[%c0] : memref<64xf32>, vector<64xf32>
  %d = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFE"> : vector<255xf8E8M0FNU>
  %d32 = arith.extf %d : vector<255xf8E8M0FNU> to vector<255xf32>
  vector.store %d32, %scales[%c0] : memref<255xf32>, vector<255xf32>
  return
}

// RANDOM: error: the interpreter knows no stochastic rounding
func.func @stochastic(%x: f32, %bits: i32) {
  %a = nvvm.convert.f32x2.to.f16x2 %x, %x, %bits {rnd = #nvvm.fp_rnd_mode<rs>} : vector<2xf16>
  return
}
