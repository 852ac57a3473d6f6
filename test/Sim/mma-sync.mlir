// What nvvm.mma.sync says of its numbers: signs, overflow, and what it has no layout for.
//
// RUN: async-sim %s --kernel=signs --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=SIGNS
// RUN: async-sim %s --kernel=overflow --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=OVERFLOW
// RUN: async-sim %s --kernel=bf16 --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=BF16
// RUN: async-sim %s --kernel=nibbles --block=32 --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=NIBBLES
// RUN: not async-sim %s --kernel=columns 2>&1 | FileCheck %s --check-prefix=COLUMNS

// 0xFF is 255 in A and -1 in B; there are 16 products of them.
// SIGNS: signs: clean
// SIGNS: argument 0: -4080 -4080 -4080
func.func @signs(%out: memref<32x2xi32>) {
  %t = gpu.thread_id x
  %ones = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %d = nvvm.mma.sync A[%ones, %ones] B[%ones] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>, intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  func.call @store(%d, %t, %out) : (!llvm.struct<(i32, i32, i32, i32)>, index, memref<32x2xi32>) -> ()
  return
}

// 16 more than the largest number.
// OVERFLOW: overflow: clean
// OVERFLOW: argument 0: 2147483647 -2147483633
func.func @overflow(%out: memref<32x2xi32>) {
  %t = gpu.thread_id x
  %ones = arith.constant 0x01010101 : i32
  %most = arith.constant 0x7FFFFFFF : i32
  %a = nvvm.mma.sync A[%ones, %ones] B[%ones] C[%most, %most, %most, %most] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>, intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  %b = nvvm.mma.sync A[%ones, %ones] B[%ones] C[%most, %most, %most, %most] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>, intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  %saturated = llvm.extractvalue %a[0] : !llvm.struct<(i32, i32, i32, i32)>
  %d = llvm.insertvalue %saturated, %b[0] : !llvm.struct<(i32, i32, i32, i32)>
  func.call @store(%d, %t, %out) : (!llvm.struct<(i32, i32, i32, i32)>, index, memref<32x2xi32>) -> ()
  return
}

func.func private @store(%d: !llvm.struct<(i32, i32, i32, i32)>, %t: index, %out: memref<32x2xi32>) {
  %c0 = arith.constant 0 : index
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(i32, i32, i32, i32)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(i32, i32, i32, i32)>
  %pair = vector.from_elements %d0, %d1 : vector<2xi32>
  vector.store %pair, %out[%t, %c0] : memref<32x2xi32>, vector<2xi32>
  return
}

// Two of them are in a register: 1.5 and 2, times 1 and 1, eight times.
// BF16: bf16: clean
// BF16: argument 0: 28 28
func.func @bf16(%out: memref<32xf32>) {
  %t = gpu.thread_id x
  %left = arith.constant 0x40003FC0 : i32
  %right = arith.constant 0x3F803F80 : i32
  %zero = arith.constant 0.0 : f32
  %d = nvvm.mma.sync A[%left, %left, %left, %left] B[%right, %right] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
  memref.store %d3, %out[%t] : memref<32xf32>
  return
}

// Eight in a register, with a sign in A and without in B. Computed from the figures of m16n8k64 in the PTX ISA.
// NIBBLES: nibbles: clean
// NIBBLES: argument 1: 22 56 66 132 28 62 72 138 34 68 78 144 40 74 84 150 -132 -212 -88 -136 -93 -173 -49 -97 -54 -134 -10 -58 -15 -95 29 -19 34 98 78 174 112 176 156 252 190 254 234 330 268 332 312 408 -120 -170 -76 -94 -9 -59 35 17 102 52 146 128 213 163 257 239 46 140 90 216 196 290 240 366 346 440 390 516 496 590 540 666 -172 -288 -128 -212 -229 -345 -185 -269 -286 -402 -242 -326 -343 -459 -299 -383 -6 -42 38 34 -168 -204 -124 -128 -330 -366 -286 -290 -492 -528 -448 -452 -160 -310 -116 -234 -289 -439 -245 -363 -418 -568 -374 -492 -547 -697 -503 -621
func.func @nibbles(%registers: memref<32x6xi32>, %out: memref<32x4xi32>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %zero = arith.constant 0 : i32
  %six = vector.load %registers[%t, %c0] : memref<32x6xi32>, vector<6xi32>
  %r:6 = vector.to_elements %six : vector<6xi32>
  %d = nvvm.mma.sync A[%r#0, %r#1, %r#2, %r#3] B[%r#4, %r#5] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s4>, multiplicandBPtxType = #nvvm.mma_type<u4>, intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, shape = #nvvm.shape<m = 16, n = 8, k = 64>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(i32, i32, i32, i32)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(i32, i32, i32, i32)>
  %d2 = llvm.extractvalue %d[2] : !llvm.struct<(i32, i32, i32, i32)>
  %d3 = llvm.extractvalue %d[3] : !llvm.struct<(i32, i32, i32, i32)>
  %all = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xi32>
  vector.store %all, %out[%t, %c0] : memref<32x4xi32>, vector<4xi32>
  return
}

// COLUMNS: error: the interpreter knows an mma.sync of row by column only
func.func @columns() {
  %x = arith.constant dense<1.0> : vector<2xf16>
  %zero = arith.constant 0.0 : f32
  %d = nvvm.mma.sync A[%x, %x] B[%x, %x] C[%zero, %zero, %zero, %zero, %zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<row>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  return
}
