// Multiplications of a sparse matrix, as nvgpu, as nvvm, and as the assembly that nvgpu is lowered to. tests/sparse.rs in
// crates/sim has all shapes and types.
//
// RUN: async-sim %s --kernel=left --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=LEFT
// RUN: async-opt %s --convert-nvgpu-to-nvvm | async-sim - --kernel=left --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=LEFT
// RUN: async-sim %s --kernel=infinite --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=INFINITE
// RUN: not async-sim %s --kernel=twice --block=32 | FileCheck %s --check-prefix=TWICE
// RUN: not async-sim %s --kernel=descending --block=32 | FileCheck %s --check-prefix=DESCENDING
// RUN: not async-sim %s --kernel=selectors --block=32 | FileCheck %s --check-prefix=SELECTORS
// RUN: not async-sim %s --kernel=by_hand 2>&1 | FileCheck %s --check-prefix=HAND
// RUN: not async-sim %s --kernel=f8 2>&1 | FileCheck %s --check-prefix=F8

// A has 1 in the first two of each four columns. In B, column n has n, and so 16 n comes out.
// LEFT: left: clean
// LEFT: argument 0: 0 16 0 16 32 48 32 48 64 80 64 80 96 112 96 112 0 16
func.func @left(%out: memref<32x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x
  %n = arith.divui %t, %c4 : index
  %i = arith.index_cast %n : index to i32
  %x = arith.sitofp %i : i32 to f16
  %a = arith.constant dense<1.0> : vector<4x2xf16>
  %b = vector.broadcast %x : f16 to vector<4x2xf16>
  %zero = arith.constant dense<0.0> : vector<2x2xf32>
  %metadata = arith.constant dense<0x4444> : vector<2xi16>
  %d = nvgpu.mma.sp.sync(%a, %b, %zero) metadata(%metadata) {mmaShape = [16, 8, 32], sparsitySelector = 1 : i32} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %row = vector.shape_cast %d : vector<2x2xf32> to vector<4xf32>
  vector.store %row, %out[%t, %c0] : memref<32x4xf32>, vector<4xf32>
  return
}

// B is infinite where A has no numbers: in rows 2, 3, 6, 7, and so on, which lanes 1 and 3 have.
// INFINITE: infinite: clean
// INFINITE: argument 0: 8 8
func.func @infinite(%out: memref<32xf32>) {
  %one = arith.constant 1 : index
  %t = gpu.thread_id x
  %low = arith.andi %t, %one : index
  %odd = arith.cmpi eq, %low, %one : index
  %a = arith.constant dense<1.0> : vector<2xf16>
  %infinity = arith.constant dense<0x7C00> : vector<2xf16>
  %b = arith.select %odd, %infinity, %a : vector<2xf16>
  %zero = arith.constant 0.0 : f32
  %metadata = arith.constant 0x44444444 : i32
  %selector = arith.constant 3 : i32
  %d = nvvm.mma.sp.sync A[%a, %a] B[%b, %b] C[%zero, %zero, %zero, %zero] sparseMetadata[%metadata] selector[%selector] {orderedMetadata, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  memref.store %d0, %out[%t] : memref<32xf32>
  return
}

// TWICE: error: nvgpu.mma.sp.sync: the metadata of row 0 of A, columns 4 to 7, is 0b0101, which means nothing: that names one of the four twice
// TWICE:      this:    thread 0 of block 0
// TWICE-NEXT: help:    let the lanes that the selector names have metadata that says which columns the numbers of A are in
func.func @twice() {
  %a = arith.constant dense<1.0> : vector<2x2xf16>
  %zero = arith.constant dense<0.0> : vector<2x2xf32>
  %metadata = arith.constant dense<0x4454> : vector<2xi16>
  %d = nvgpu.mma.sp.sync(%a, %a, %zero) metadata(%metadata) {mmaShape = [16, 8, 16]} : (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}

// DESCENDING: error: nvvm.mma.sp.sync: the metadata of row 0 of A, columns 0 to 3, is 0b0001, which means nothing: ordered metadata names the left one first
func.func @descending() {
  %a = arith.constant dense<1.0> : vector<2xf16>
  %zero = arith.constant 0.0 : f32
  %metadata = arith.constant 0x11111111 : i32
  %selector = arith.constant 0 : i32
  %d = nvvm.mma.sp.sync A[%a, %a] B[%a, %a] C[%zero, %zero, %zero, %zero] sparseMetadata[%metadata] selector[%selector] {orderedMetadata, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  return
}

// SELECTORS: error: nvvm.mma.sp.sync: threads of the warp come here together, and name different sparsity selectors
// SELECTORS: this:    thread 1 of block 0
func.func @selectors() {
  %a = arith.constant dense<1.0> : vector<2xf16>
  %zero = arith.constant 0.0 : f32
  %metadata = arith.constant 0x44444444 : i32
  %three = arith.constant 3 : i32
  %t = gpu.thread_id x
  %i = arith.index_cast %t : index to i32
  %selector = arith.andi %i, %three : i32
  %d = nvvm.mma.sp.sync A[%a, %a] B[%a, %a] C[%zero, %zero, %zero, %zero] sparseMetadata[%metadata] selector[%selector] {shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  return
}

// HAND: error: the interpreter knows an mma.sp as --convert-nvgpu-to-nvvm writes it only: use nvvm.mma.sp.sync
func.func @by_hand() {
  %a = arith.constant dense<1.0> : vector<2xf16>
  %c = arith.constant 0.0 : f32
  %metadata = arith.constant 0x44444444 : i32
  %d = llvm.inline_asm has_side_effects "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3},{$4,$5},{$5,$4},{$8,$9,$10,$11},$12,0x0;", "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r" %a, %a, %a, %a, %c, %c, %c, %c, %metadata : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32, i32) -> !llvm.struct<(f32, f32, f32, f32)>
  return
}

// The verifier wants half of the registers that A has.
// F8: error: the interpreter knows no multiplication of this shape and type
func.func @f8() {
  %a = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %d = nvvm.mma.sp.sync A[%a, %a] B[%a, %a] C[%zero, %zero, %zero, %zero] sparseMetadata[%a] selector[%a] {multiplicandAPtxType = #nvvm.mma_type<e4m3>, multiplicandBPtxType = #nvvm.mma_type<e4m3>, shape = #nvvm.shape<m = 16, n = 8, k = 64>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  return
}
