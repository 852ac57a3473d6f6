// What nvvm.mma.sync says of its numbers: signs, overflow, and what it has no layout for.
//
// RUN: async-sim %s --kernel=signs --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=SIGNS
// RUN: async-sim %s --kernel=overflow --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=OVERFLOW
// RUN: async-sim %s --kernel=bf16 --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=BF16
// RUN: not async-sim %s --kernel=bits 2>&1 | FileCheck %s --check-prefix=BITS
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

// BITS: error: the interpreter has no matrices of s4
func.func @bits() {
  %ones = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %d = nvvm.mma.sync A[%ones, %ones] B[%ones] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s4>, multiplicandBPtxType = #nvvm.mma_type<s4>, intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
  return
}

// COLUMNS: error: the interpreter knows an mma.sync of row by column only
func.func @columns() {
  %x = arith.constant dense<1.0> : vector<2xf16>
  %zero = arith.constant 0.0 : f32
  %d = nvvm.mma.sync A[%x, %x] B[%x, %x] C[%zero, %zero, %zero, %zero, %zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<row>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  return
}
