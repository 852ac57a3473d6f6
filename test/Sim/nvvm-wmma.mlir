// Matrices that a warp has together, at addresses: what upstream's --convert-gpu-to-nvvm makes of those of subgroup-mma.mlir.
//
// RUN: async-sim %s --kernel=product --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=PRODUCT
// RUN: async-sim %s --kernel=narrow --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=NARROW
// RUN: async-sim %s --kernel=single --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=SINGLE
// RUN: async-sim %s --kernel=bytes --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=BYTES
// RUN: async-sim %s --kernel=double --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=DOUBLE
// RUN: not async-sim %s --kernel=no_barrier --block=32 | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=half_a_warp --block=32 | FileCheck %s --check-prefix=HALF
// RUN: not async-sim %s --kernel=different_strides --block=32 | FileCheck %s --check-prefix=PLACES
// RUN: not async-sim %s --kernel=outside --block=32 | FileCheck %s --check-prefix=OUTSIDE

// Row 0 of A is 0, 1, 2, …, and so is column 0 of B, which lies column by column. There is 1 to add to, and 1 is added to each
// element in its register. Of each element of A and B, two lanes have a copy.
// PRODUCT: product: clean
// PRODUCT: argument 2: 1242 3162 5082 7002
func.func @product(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %out: memref<16x16xf32>) {
  %stride = llvm.mlir.constant(16 : i32) : i32
  %one = llvm.mlir.constant(1.0 : f32) : f32
  %ap_index = memref.extract_aligned_pointer_as_index %a : memref<16x16xf16> -> index
  %ap_int = arith.index_cast %ap_index : index to i64
  %ap = llvm.inttoptr %ap_int : i64 to !llvm.ptr
  %bp_index = memref.extract_aligned_pointer_as_index %b : memref<16x16xf16> -> index
  %bp_int = arith.index_cast %bp_index : index to i64
  %bp = llvm.inttoptr %bp_int : i64 to !llvm.ptr
  %op_index = memref.extract_aligned_pointer_as_index %out : memref<16x16xf32> -> index
  %op_int = arith.index_cast %op_index : index to i64
  %op = llvm.inttoptr %op_int : i64 to !llvm.ptr
  %left = nvvm.wmma.load %ap, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %right = nvvm.wmma.load %bp, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<b>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<col>} : (!llvm.ptr) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a0 = llvm.extractvalue %left[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a1 = llvm.extractvalue %left[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a2 = llvm.extractvalue %left[2] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a3 = llvm.extractvalue %left[3] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a4 = llvm.extractvalue %left[4] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a5 = llvm.extractvalue %left[5] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a6 = llvm.extractvalue %left[6] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a7 = llvm.extractvalue %left[7] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b0 = llvm.extractvalue %right[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b1 = llvm.extractvalue %right[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b2 = llvm.extractvalue %right[2] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b3 = llvm.extractvalue %right[3] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b4 = llvm.extractvalue %right[4] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b5 = llvm.extractvalue %right[5] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b6 = llvm.extractvalue %right[6] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b7 = llvm.extractvalue %right[7] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %d = nvvm.wmma.mma %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7, %one, %one, %one, %one, %one, %one, %one, %one {eltypeA = #nvvm.mma_type<f16>, eltypeB = #nvvm.mma_type<f32>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d4 = llvm.extractvalue %d[4] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d5 = llvm.extractvalue %d[5] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d6 = llvm.extractvalue %d[6] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d7 = llvm.extractvalue %d[7] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %s0 = llvm.fadd %d0, %one : f32
  %s1 = llvm.fadd %d1, %one : f32
  %s2 = llvm.fadd %d2, %one : f32
  %s3 = llvm.fadd %d3, %one : f32
  %s4 = llvm.fadd %d4, %one : f32
  %s5 = llvm.fadd %d5, %one : f32
  %s6 = llvm.fadd %d6, %one : f32
  %s7 = llvm.fadd %d7, %one : f32
  nvvm.wmma.store %op, %stride, %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7 {eltype = #nvvm.mma_type<f32>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : !llvm.ptr, f32, f32, f32, f32, f32, f32, f32, f32
  return
}

// 32 rows and 8 columns of f16, stored column by column. Row 0 of A is 0, 1, …, 15; column 0 of B, which lies row by row, is 0, 8, …
// NARROW: narrow: clean
// NARROW: argument 2: 9920 25280 40640 56000 inf
func.func @narrow(%a: memref<32x16xf16>, %b: memref<16x8xf16>, %out: memref<8x32xf16>) {
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %zero = llvm.mlir.constant(dense<0.0> : vector<2xf16>) : vector<2xf16>
  %ap_index = memref.extract_aligned_pointer_as_index %a : memref<32x16xf16> -> index
  %ap_int = arith.index_cast %ap_index : index to i64
  %ap = llvm.inttoptr %ap_int : i64 to !llvm.ptr
  %bp_index = memref.extract_aligned_pointer_as_index %b : memref<16x8xf16> -> index
  %bp_int = arith.index_cast %bp_index : index to i64
  %bp = llvm.inttoptr %bp_int : i64 to !llvm.ptr
  %op_index = memref.extract_aligned_pointer_as_index %out : memref<8x32xf16> -> index
  %op_int = arith.index_cast %op_index : index to i64
  %op = llvm.inttoptr %op_int : i64 to !llvm.ptr
  %left = nvvm.wmma.load %ap, %c16 {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 32 : i32, n = 8 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %right = nvvm.wmma.load %bp, %c8 {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<b>, k = 16 : i32, m = 32 : i32, n = 8 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a0 = llvm.extractvalue %left[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a1 = llvm.extractvalue %left[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a2 = llvm.extractvalue %left[2] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a3 = llvm.extractvalue %left[3] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a4 = llvm.extractvalue %left[4] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a5 = llvm.extractvalue %left[5] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a6 = llvm.extractvalue %left[6] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %a7 = llvm.extractvalue %left[7] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b0 = llvm.extractvalue %right[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b1 = llvm.extractvalue %right[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b2 = llvm.extractvalue %right[2] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b3 = llvm.extractvalue %right[3] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b4 = llvm.extractvalue %right[4] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b5 = llvm.extractvalue %right[5] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b6 = llvm.extractvalue %right[6] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %b7 = llvm.extractvalue %right[7] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %d = nvvm.wmma.mma %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7, %zero, %zero, %zero, %zero {eltypeA = #nvvm.mma_type<f16>, eltypeB = #nvvm.mma_type<f16>, k = 16 : i32, m = 32 : i32, n = 8 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<row>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %d2 = llvm.extractvalue %d[2] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  %d3 = llvm.extractvalue %d[3] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  nvvm.wmma.store %op, %c32, %d0, %d1, %d2, %d3 {eltype = #nvvm.mma_type<f16>, k = 16 : i32, m = 32 : i32, n = 8 : i32, layout = #nvvm.mma_layout<col>} : !llvm.ptr, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>
  return
}

// tf32 in registers of 32 bits.
// SINGLE: single: clean
// SINGLE: argument 2: 140 364 588 812
func.func @single(%a: memref<16x8xf32>, %b: memref<16x8xf32>, %out: memref<16x16xf32>) {
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %ap_index = memref.extract_aligned_pointer_as_index %a : memref<16x8xf32> -> index
  %ap_int = arith.index_cast %ap_index : index to i64
  %ap = llvm.inttoptr %ap_int : i64 to !llvm.ptr
  %bp_index = memref.extract_aligned_pointer_as_index %b : memref<16x8xf32> -> index
  %bp_int = arith.index_cast %bp_index : index to i64
  %bp = llvm.inttoptr %bp_int : i64 to !llvm.ptr
  %op_index = memref.extract_aligned_pointer_as_index %out : memref<16x16xf32> -> index
  %op_int = arith.index_cast %op_index : index to i64
  %op = llvm.inttoptr %op_int : i64 to !llvm.ptr
  %left = nvvm.wmma.load %ap, %c8 {eltype = #nvvm.mma_type<tf32>, frag = #nvvm.mma_frag<a>, k = 8 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32)>
  %right = nvvm.wmma.load %bp, %c8 {eltype = #nvvm.mma_type<tf32>, frag = #nvvm.mma_frag<b>, k = 8 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<col>} : (!llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32)>
  %sum = nvvm.wmma.load %op, %c16 {eltype = #nvvm.mma_type<f32>, frag = #nvvm.mma_frag<c>, k = 8 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %a0 = llvm.extractvalue %left[0] : !llvm.struct<(i32, i32, i32, i32)>
  %a1 = llvm.extractvalue %left[1] : !llvm.struct<(i32, i32, i32, i32)>
  %a2 = llvm.extractvalue %left[2] : !llvm.struct<(i32, i32, i32, i32)>
  %a3 = llvm.extractvalue %left[3] : !llvm.struct<(i32, i32, i32, i32)>
  %b0 = llvm.extractvalue %right[0] : !llvm.struct<(i32, i32, i32, i32)>
  %b1 = llvm.extractvalue %right[1] : !llvm.struct<(i32, i32, i32, i32)>
  %b2 = llvm.extractvalue %right[2] : !llvm.struct<(i32, i32, i32, i32)>
  %b3 = llvm.extractvalue %right[3] : !llvm.struct<(i32, i32, i32, i32)>
  %c0 = llvm.extractvalue %sum[0] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c1 = llvm.extractvalue %sum[1] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c2 = llvm.extractvalue %sum[2] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c3 = llvm.extractvalue %sum[3] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c4 = llvm.extractvalue %sum[4] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c5 = llvm.extractvalue %sum[5] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c6 = llvm.extractvalue %sum[6] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %c7 = llvm.extractvalue %sum[7] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d = nvvm.wmma.mma %a0, %a1, %a2, %a3, %b0, %b1, %b2, %b3, %c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7 {eltypeA = #nvvm.mma_type<tf32>, eltypeB = #nvvm.mma_type<f32>, k = 8 : i32, m = 16 : i32, n = 16 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : (i32, i32, i32, i32, i32, i32, i32, i32, f32, f32, f32, f32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d4 = llvm.extractvalue %d[4] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d5 = llvm.extractvalue %d[5] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d6 = llvm.extractvalue %d[6] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  %d7 = llvm.extractvalue %d[7] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
  gpu.barrier
  nvvm.wmma.store %op, %c16, %d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7 {eltype = #nvvm.mma_type<f32>, k = 8 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : !llvm.ptr, f32, f32, f32, f32, f32, f32, f32, f32
  return
}

// Bytes without a sign, four in a register: A is 0, 1, …, 127, and B, column by column, is 0, 1, …, 255, 0, …
// BYTES: bytes: clean
// BYTES: argument 2: 1240 3160 5080 7000 8920 10840 12760 14680 16600
func.func @bytes(%a: memref<8x16xi8>, %b: memref<32x16xi8>, %out: memref<8x32xi32>) {
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %ap_index = memref.extract_aligned_pointer_as_index %a : memref<8x16xi8> -> index
  %ap_int = arith.index_cast %ap_index : index to i64
  %ap = llvm.inttoptr %ap_int : i64 to !llvm.ptr
  %bp_index = memref.extract_aligned_pointer_as_index %b : memref<32x16xi8> -> index
  %bp_int = arith.index_cast %bp_index : index to i64
  %bp = llvm.inttoptr %bp_int : i64 to !llvm.ptr
  %op_index = memref.extract_aligned_pointer_as_index %out : memref<8x32xi32> -> index
  %op_int = arith.index_cast %op_index : index to i64
  %op = llvm.inttoptr %op_int : i64 to !llvm.ptr
  %left = nvvm.wmma.load %ap, %c16 {eltype = #nvvm.mma_type<u8>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 8 : i32, n = 32 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(i32)>
  %right = nvvm.wmma.load %bp, %c16 {eltype = #nvvm.mma_type<u8>, frag = #nvvm.mma_frag<b>, k = 16 : i32, m = 8 : i32, n = 32 : i32, layout = #nvvm.mma_layout<col>} : (!llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32)>
  %sum = nvvm.wmma.load %op, %c32 {eltype = #nvvm.mma_type<s32>, frag = #nvvm.mma_frag<c>, k = 16 : i32, m = 8 : i32, n = 32 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %a0 = llvm.extractvalue %left[0] : !llvm.struct<(i32)>
  %b0 = llvm.extractvalue %right[0] : !llvm.struct<(i32, i32, i32, i32)>
  %b1 = llvm.extractvalue %right[1] : !llvm.struct<(i32, i32, i32, i32)>
  %b2 = llvm.extractvalue %right[2] : !llvm.struct<(i32, i32, i32, i32)>
  %b3 = llvm.extractvalue %right[3] : !llvm.struct<(i32, i32, i32, i32)>
  %c0 = llvm.extractvalue %sum[0] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c1 = llvm.extractvalue %sum[1] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c2 = llvm.extractvalue %sum[2] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c3 = llvm.extractvalue %sum[3] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c4 = llvm.extractvalue %sum[4] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c5 = llvm.extractvalue %sum[5] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c6 = llvm.extractvalue %sum[6] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %c7 = llvm.extractvalue %sum[7] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d = nvvm.wmma.mma %a0, %b0, %b1, %b2, %b3, %c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7 {eltypeA = #nvvm.mma_type<u8>, eltypeB = #nvvm.mma_type<s32>, k = 16 : i32, m = 8 : i32, n = 32 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d2 = llvm.extractvalue %d[2] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d3 = llvm.extractvalue %d[3] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d4 = llvm.extractvalue %d[4] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d5 = llvm.extractvalue %d[5] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d6 = llvm.extractvalue %d[6] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  %d7 = llvm.extractvalue %d[7] : !llvm.struct<(i32, i32, i32, i32, i32, i32, i32, i32)>
  gpu.barrier
  nvvm.wmma.store %op, %c32, %d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7 {eltype = #nvvm.mma_type<s32>, k = 16 : i32, m = 8 : i32, n = 32 : i32, layout = #nvvm.mma_layout<row>} : !llvm.ptr, i32, i32, i32, i32, i32, i32, i32, i32
  return
}

// One number of A and of B in each lane.
// DOUBLE: double: clean
// DOUBLE: argument 2: 14 38 62 86 110 134 158 182 38 126
func.func @double(%a: memref<8x4xf64>, %b: memref<8x4xf64>, %out: memref<8x8xf64>) {
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %ap_index = memref.extract_aligned_pointer_as_index %a : memref<8x4xf64> -> index
  %ap_int = arith.index_cast %ap_index : index to i64
  %ap = llvm.inttoptr %ap_int : i64 to !llvm.ptr
  %bp_index = memref.extract_aligned_pointer_as_index %b : memref<8x4xf64> -> index
  %bp_int = arith.index_cast %bp_index : index to i64
  %bp = llvm.inttoptr %bp_int : i64 to !llvm.ptr
  %op_index = memref.extract_aligned_pointer_as_index %out : memref<8x8xf64> -> index
  %op_int = arith.index_cast %op_index : index to i64
  %op = llvm.inttoptr %op_int : i64 to !llvm.ptr
  %left = nvvm.wmma.load %ap, %c4 {eltype = #nvvm.mma_type<f64>, frag = #nvvm.mma_frag<a>, k = 4 : i32, m = 8 : i32, n = 8 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> f64
  %right = nvvm.wmma.load %bp, %c4 {eltype = #nvvm.mma_type<f64>, frag = #nvvm.mma_frag<b>, k = 4 : i32, m = 8 : i32, n = 8 : i32, layout = #nvvm.mma_layout<col>} : (!llvm.ptr) -> f64
  %sum = nvvm.wmma.load %op, %c8 {eltype = #nvvm.mma_type<f64>, frag = #nvvm.mma_frag<c>, k = 4 : i32, m = 8 : i32, n = 8 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr) -> !llvm.struct<(f64, f64)>
  %c0 = llvm.extractvalue %sum[0] : !llvm.struct<(f64, f64)>
  %c1 = llvm.extractvalue %sum[1] : !llvm.struct<(f64, f64)>
  %d = nvvm.wmma.mma %left, %right, %c0, %c1 {eltypeA = #nvvm.mma_type<f64>, eltypeB = #nvvm.mma_type<f64>, k = 4 : i32, m = 8 : i32, n = 8 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : (f64, f64, f64, f64) -> !llvm.struct<(f64, f64)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f64, f64)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f64, f64)>
  gpu.barrier
  nvvm.wmma.store %op, %c8, %d0, %d1 {eltype = #nvvm.mma_type<f64>, k = 4 : i32, m = 8 : i32, n = 8 : i32, layout = #nvvm.mma_layout<row>} : !llvm.ptr, f64, f64
  return
}

// RACE: error: RAW race: nvvm.wmma.load reads what another thread wrote
// RACE: against: vector.store
func.func @no_barrier() {
  %stride = llvm.mlir.constant(16 : i32) : i32
  %s = memref.alloc() : memref<16x16xf16, 3>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_row = arith.cmpi ult, %t, %c16 : index
  scf.if %is_row {
    %row = arith.constant dense<1.0> : vector<16xf16>
    vector.store %row, %s[%t, %c0] : memref<16x16xf16, 3>, vector<16xf16>
  }
  %sp_index = memref.extract_aligned_pointer_as_index %s : memref<16x16xf16, 3> -> index
  %sp_int = arith.index_cast %sp_index : index to i64
  %sp = llvm.inttoptr %sp_int : i64 to !llvm.ptr<3>
  %left = nvvm.wmma.load %sp, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr<3>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  return
}

// HALF: error: nvvm.wmma.load: this is an operation of a whole warp, and not all of its threads come to it
func.func @half_a_warp() {
  %stride = llvm.mlir.constant(16 : i32) : i32
  %s = memref.alloc() : memref<16x16xf16, 3>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_row = arith.cmpi ult, %t, %c16 : index
  scf.if %is_row {
    %row = arith.constant dense<1.0> : vector<16xf16>
    vector.store %row, %s[%t, %c0] : memref<16x16xf16, 3>, vector<16xf16>
  }
  gpu.barrier
  %sp_index = memref.extract_aligned_pointer_as_index %s : memref<16x16xf16, 3> -> index
  %sp_int = arith.index_cast %sp_index : index to i64
  %sp = llvm.inttoptr %sp_int : i64 to !llvm.ptr<3>
  scf.if %is_row {
    %left = nvvm.wmma.load %sp, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr<3>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  }
  return
}

// PLACES: error: nvvm.wmma.load: threads of the warp access one matrix together here, and name different places
func.func @different_strides() {
  %s = memref.alloc() : memref<16x16xf16, 3>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_row = arith.cmpi ult, %t, %c16 : index
  scf.if %is_row {
    %row = arith.constant dense<1.0> : vector<16xf16>
    vector.store %row, %s[%t, %c0] : memref<16x16xf16, 3>, vector<16xf16>
  }
  gpu.barrier
  %stride = arith.index_cast %t : index to i32
  %sp_index = memref.extract_aligned_pointer_as_index %s : memref<16x16xf16, 3> -> index
  %sp_int = arith.index_cast %sp_index : index to i64
  %sp = llvm.inttoptr %sp_int : i64 to !llvm.ptr<3>
  %left = nvvm.wmma.load %sp, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr<3>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  return
}

// OUTSIDE: error: nvvm.wmma.load: 2 bytes from byte 512 on are not inside of workgroup buffer %s
func.func @outside() {
  %stride = llvm.mlir.constant(17 : i32) : i32
  %s = memref.alloc() : memref<16x16xf16, 3>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_row = arith.cmpi ult, %t, %c16 : index
  scf.if %is_row {
    %row = arith.constant dense<1.0> : vector<16xf16>
    vector.store %row, %s[%t, %c0] : memref<16x16xf16, 3>, vector<16xf16>
  }
  gpu.barrier
  %sp_index = memref.extract_aligned_pointer_as_index %s : memref<16x16xf16, 3> -> index
  %sp_int = arith.index_cast %sp_index : index to i64
  %sp = llvm.inttoptr %sp_int : i64 to !llvm.ptr<3>
  %left = nvvm.wmma.load %sp, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, m = 16 : i32, n = 16 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr<3>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
  return
}
