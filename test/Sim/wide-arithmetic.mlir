// Arithmetic with two results, with scales, and on bytes.
//
// RUN: async-sim %s --kernel=extended --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=EXTENDED
// RUN: async-sim %s --kernel=sine_and_cosine --arg 0=zero --print | FileCheck %s --check-prefix=SINCOS
// RUN: async-sim %s --kernel=scaled --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=SCALED
// RUN: async-sim %s --kernel=bytes --arg 0=zero --print | FileCheck %s --check-prefix=BYTES
// RUN: async-sim %s --kernel=dots --arg 0=zero --print | FileCheck %s --check-prefix=DOTS
// RUN: async-sim %s --kernel=reciprocals --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=RCP
// RUN: async-sim %s --kernel=bits --arg 0=zero --arg 1=zero --arg 2=zero --print | FileCheck %s --check-prefix=BITS
// RUN: async-sim %s --kernel=int4 --arg 0=ramp --arg 1=zero --arg 2=zero --print | FileCheck %s --check-prefix=INT4

// 2³² - 1 + 2 is 1, with a carry; -2³¹ · 3 has the halves -2³¹ and -2, and 2³¹ · 3 has 2³¹ and 1.
// EXTENDED: extended: clean
// EXTENDED: argument 0: 1 -2147483648 -2 -2147483648 1
// EXTENDED: argument 1: 1 0
func.func @extended(%out: memref<5xi32>, %carries: memref<2xi1>) {
  %c0 = arith.constant 0 : index
  %max = arith.constant -1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %min = arith.constant -2147483648 : i32
  %sum, %carry = arith.addui_extended %max, %two : i32, i1
  %small, %none = arith.addui_extended %two, %two : i32, i1
  %sl, %sh = arith.mulsi_extended %min, %three : i32
  %ul, %uh = arith.mului_extended %min, %three : i32
  %row = vector.from_elements %sum, %sl, %sh, %ul, %uh : vector<5xi32>
  vector.store %row, %out[%c0] : memref<5xi32>, vector<5xi32>
  %flags = vector.from_elements %carry, %none : vector<2xi1>
  vector.store %flags, %carries[%c0] : memref<2xi1>, vector<2xi1>
  return
}

// SINCOS: sine_and_cosine: clean
// SINCOS: argument 0: 0.8414709848078965 0.5403023058681398
func.func @sine_and_cosine(%out: memref<2xf64>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f64
  %sin, %cos = math.sincos %one : f64
  %row = vector.from_elements %sin, %cos : vector<2xf64>
  vector.store %row, %out[%c0] : memref<2xf64>, vector<2xf64>
  return
}

// Scales are powers of two: 3 is 4, as 2.9 is 2. 6 · 4 and 6 · 2; 10 / 4 = 2.5 lies between 2 and 3.
// SCALED: scaled: clean
// SCALED: argument 0: 24 12 -0.5 8
// SCALED: argument 1: 2 6 -6 0
func.func @scaled(%out: memref<4xf32>, %small: memref<4xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<[6.0, 6.0, -0.5, 2.0]> : vector<4xf4E2M1FN>
  %scales = arith.constant dense<[3.0, 2.9, 1.0, 4.0]> : vector<4xf32>
  %wide = arith.scaling_extf %x, %scales : vector<4xf4E2M1FN>, vector<4xf32> to vector<4xf32>
  vector.store %wide, %out[%c0] : memref<4xf32>, vector<4xf32>
  %y = arith.constant dense<[10.0, 100.0, -100.0, 1.0]> : vector<4xf32>
  %four = arith.constant dense<4.0> : vector<4xf8E8M0FNU>
  %narrow = arith.scaling_truncf %y, %four : vector<4xf32>, vector<4xf8E8M0FNU> to vector<4xf4E2M1FN>
  vector.store %narrow, %small[%c0] : memref<4xf4E2M1FN>, vector<4xf4E2M1FN>
  return
}

// Of the bytes 0x11 to 0x88, of which the last is negative: 0x88776655; 0xFF001133, with the signs of the last and the first;
// and each mode by 1: 0x55443322, 0x77881122, 0x22222222, 0x44332222, 0x22222211 and 0x44334433.
// BYTES: bytes: clean
// BYTES: argument 0: -2005440939 -16772813 1430532898 2005405986 572662306 1144201762 572662289 1144210483
func.func @bytes(%out: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %lo = arith.constant 0x44332211 : i32
  %hi = arith.constant 0x88776655 : i32
  %upper = arith.constant 0x7654 : i32
  %signs = arith.constant 0xF802 : i32
  %one = arith.constant 1 : i32
  %a = nvvm.prmt #nvvm.permute_mode<default> %upper, %lo, %hi : i32
  %b = nvvm.prmt #nvvm.permute_mode<default> %signs, %lo, %hi : i32
  %c = nvvm.prmt #nvvm.permute_mode<f4e> %one, %lo, %hi : i32
  %d = nvvm.prmt #nvvm.permute_mode<b4e> %one, %lo, %hi : i32
  %e = nvvm.prmt #nvvm.permute_mode<rc8> %one, %lo : i32
  %f = nvvm.prmt #nvvm.permute_mode<ecl> %one, %lo : i32
  %g = nvvm.prmt #nvvm.permute_mode<ecr> %one, %lo : i32
  %h = nvvm.prmt #nvvm.permute_mode<rc16> %one, %lo : i32
  %row = vector.from_elements %a, %b, %c, %d, %e, %f, %g, %h : vector<8xi32>
  vector.store %row, %out[%c0] : memref<8xi32>, vector<8xi32>
  return
}

// 100 + -1 · 1 + 2 · 2 + 3 · 3 + 4 · -1, with 255 for each -1 without a sign; and the halves of the second vector.
// DOTS: dots: clean
// DOTS: argument 0: 108 1388 103 105
func.func @dots(%out: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %hundred = arith.constant 100 : i32
  %a = arith.constant dense<[-1, 2, 3, 4]> : vector<4xi8>
  %b = arith.constant dense<[1, 2, 3, -1]> : vector<4xi8>
  %s = nvvm.dot.accumulate.4way %a <signed>, %b <signed>, %hundred : vector<4xi8>, vector<4xi8>
  %u = nvvm.dot.accumulate.4way %a <unsigned>, %b <unsigned>, %hundred : vector<4xi8>, vector<4xi8>
  %c = arith.constant dense<[-1, 2]> : vector<2xi16>
  %low = nvvm.dot.accumulate.2way %c <signed>, %b <signed>, %hundred {b_hi = false} : vector<2xi16>, vector<4xi8>
  %d = arith.constant dense<[2, 1]> : vector<2xi16>
  %high = nvvm.dot.accumulate.2way %d <signed>, %b <signed>, %hundred {b_hi = true} : vector<2xi16>, vector<4xi8>
  %row = vector.from_elements %s, %u, %low, %high : vector<4xi32>
  vector.store %row, %out[%c0] : memref<4xi32>, vector<4xi32>
  return
}

// What is subnormal counts as 0: 2⁻¹²⁷, and what 2¹²⁷ would make.
// RCP: reciprocals: clean
// RCP: argument 0: 0.25 inf -inf 0
func.func @reciprocals(%out: memref<4xf32>, %unused: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %x = arith.constant dense<[4.0, 0x00400000, -0.0]> : vector<3xf32>
  %r = nvgpu.rcp %x {rounding = approx, ftz} : vector<3xf32>
  vector.store %r, %out[%c0] : memref<4xf32>, vector<3xf32>
  %large = arith.constant 0x7F000000 : f32
  %tiny = nvvm.rcp.approx.ftz.f %large : f32
  memref.store %tiny, %out[%c3] : memref<4xf32>
  return
}

// The first number is in the low bits.
// BITS: bits: clean
// BITS: argument 0: -123 33
// BITS: argument 1: 5 -8 0 1
// BITS: argument 2: 1 -4
func.func @bits(%bytes: memref<2xi8>, %nibbles: memref<4xi8>, %floats: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %flags = arith.constant dense<[true, false, true, false, false, false, false, true]> : vector<8xi1>
  %byte = vector.bitcast %flags : vector<8xi1> to vector<1xi8>
  vector.store %byte, %bytes[%c0] : memref<2xi8>, vector<1xi8>
  %two = arith.constant dense<[1, 2]> : vector<2xi4>
  %other = vector.bitcast %two : vector<2xi4> to vector<1xi8>
  vector.store %other, %bytes[%c1] : memref<2xi8>, vector<1xi8>
  %word = arith.constant dense<0x1085> : vector<1xi16>
  %four = vector.bitcast %word : vector<1xi16> to vector<4xi4>
  %wide = arith.extsi %four : vector<4xi4> to vector<4xi8>
  vector.store %wide, %nibbles[%c0] : memref<4xi8>, vector<4xi8>
  // 1.0 is 0010, and -4.0 is 1110.
  %packed = arith.constant dense<0xE2> : vector<1xi8>
  %fp4 = vector.bitcast %packed : vector<1xi8> to vector<2xf4E2M1FN>
  %fp32 = arith.extf %fp4 : vector<2xf4E2M1FN> to vector<2xf32>
  vector.store %fp32, %floats[%c0] : memref<2xf32>, vector<2xf32>
  return
}

// An element of 4 bits has a byte of its own.
// INT4: int4: clean
// INT4: argument 1: 7 -8 -7
// INT4: argument 2: -1
func.func @int4(%m: memref<16xi4>, %out: memref<3xi32>, %sum: memref<1xi4>) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %v = vector.load %m[%c7] : memref<16xi4>, vector<3xi4>
  %wide = arith.extsi %v : vector<3xi4> to vector<3xi32>
  vector.store %wide, %out[%c0] : memref<3xi32>, vector<3xi32>
  %a = memref.load %m[%c7] : memref<16xi4>
  %b = memref.load %m[%c8] : memref<16xi4>
  %s = arith.addi %a, %b : i4
  memref.store %s, %sum[%c0] : memref<1xi4>
  return
}
