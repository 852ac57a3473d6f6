// What can't be run, or is wrong about a multiplication as such.
//
// RUN: not async-sim %s --kernel=bits 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not async-sim %s --kernel=registers 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not async-sim %s --kernel=columns_of_b 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not async-sim %s --kernel=long_rows 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not async-sim %s --kernel=narrow_store 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: not async-sim %s --kernel=too_many_zeros 2>&1 | FileCheck %s --check-prefix=ZEROS
// RUN: not async-sim %s --kernel=too_many_columns 2>&1 | FileCheck %s --check-prefix=ASSEMBLY
// RUN: not async-sim %s --kernel=transposed_bytes 2>&1 | FileCheck %s --check-prefix=ASSEMBLY
//
// RUN: not async-sim %s --kernel=two_warps --arg 0=random | FileCheck %s --check-prefix=WARPS
// RUN: not async-sim %s --kernel=nowhere | FileCheck %s --check-prefix=NOWHERE
// RUN: not async-sim %s --kernel=base_offset --arg 0=random | FileCheck %s --check-prefix=BASE
// RUN: not async-sim %s --kernel=different --arg 0=random | FileCheck %s --check-prefix=DIFFERENT
// RUN: not async-sim %s --kernel=misaligned | FileCheck %s --check-prefix=ALIGN
// RUN: not async-sim %s --kernel=beyond --arg 0=random | FileCheck %s --check-prefix=BEYOND
// RUN: not async-sim %s --kernel=too_much --arg 0=random | FileCheck %s --check-prefix=MUCH
// RUN: not async-sim %s --kernel=poison --arg 0=random | FileCheck %s --check-prefix=POISON

!m = memref<4096xf16, 3>
!d = !llvm.struct<(f32, f32, f32, f32)>
!int = !llvm.struct<(i32, i32, i32, i32)>
!half = !llvm.struct<(f16, f16)>

// BITS: error: the interpreter has no matrices of b1
func.func @bits(%x: i64) {
  %c = llvm.mlir.undef : !int
  %d = nvvm.wgmma.mma_async %x, %x, %c, <m = 64, n = 8, k = 256>, D [<s32>, <zero>], A [<b1>, <one>, <row>], B [<b1>, <one>, <col>] : !int -> !int
  return
}

// REGISTERS: error: an accumulator of this shape takes 8 bytes of registers
func.func @registers(%x: i64) {
  %c = llvm.mlir.undef : !half
  %d = nvvm.wgmma.mma_async %x, %x, %c, <m = 64, n = 8, k = 16>, D [<f16>, <zero>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !half -> !half
  return
}

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!square = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!wide = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!tall = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!acc_tall = !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>>

// ZEROS: error: {{.*}}nvgpu.warpgroup.mma.init.accumulator
func.func @too_many_zeros() {
  %c = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<256x256xf32>>
  return
}

// A multiplication that there is not.
// ASSEMBLY: error: {{.*}}llvm.inline_asm
func.func @too_many_columns(%a: i32, %b: i64) {
  %d = llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0Asetp.ne.b32 p, 0, 0;\0Awgmma.mma_async.sync.aligned.m64n9223372036854775808k16.f32.f16.f16 {$0}, {$2, $3, $4, $5}, $6, p, 1, 1, 0;\0A}", "=f,0,r,r,r,r,l" %a, %a, %a, %a, %a, %b : (i32, i32, i32, i32, i32, i64) -> !d
  return
}

// Elements of 8 bits can't be transposed.
func.func @transposed_bytes(%c: i32, %a: i32, %b: i64) {
  %d = llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0Asetp.ne.b32 p, 0, 0;\0Awgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 1;\0A}", "=r,=r,=r,=r,0,1,2,3,r,r,r,r,l" %c, %c, %c, %c, %a, %a, %a, %a, %b : (i32, i32, i32, i32, i32, i32, i32, i32, i64) -> !int
  return
}

// COLUMNS: error: upstream lowers this to descriptors of other matrices than the types say
func.func @columns_of_b(%a: memref<64x64xf16, 3>, %map: !map) {
  %m = nvgpu.warpgroup.generate.descriptor %a, %map : memref<64x64xf16, 3>, !map -> !square
  %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
  %d = nvgpu.warpgroup.mma %m, %m, %c : !square, !square, !acc -> !acc
  return
}

// ROWS: error: upstream lowers this to descriptors of other matrices than the types say
func.func @long_rows(%a: memref<64x128xf16, 3>, %b: memref<128x64xf16, 3>, %map: !map) {
  %ma = nvgpu.warpgroup.generate.descriptor %a, %map : memref<64x128xf16, 3>, !map -> !wide
  %mb = nvgpu.warpgroup.generate.descriptor %b, %map : memref<128x64xf16, 3>, !map -> !tall
  %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
  %d = nvgpu.warpgroup.mma %ma, %mb, %c {transposeB} : !wide, !tall, !acc -> !acc
  return
}

// STORE: error: upstream stores accumulators of more than 64 rows where they belong only if they have 128 columns
func.func @narrow_store(%out: memref<128x64xf32>) {
  %c = nvgpu.warpgroup.mma.init.accumulator -> !acc_tall
  nvgpu.warpgroup.mma.store %c, %out : !acc_tall to memref<128x64xf32>
  return
}

func.func private @descriptor(%m: !m, %rest: i64) -> i64 {
  %c4 = arith.constant 4 : i64
  %p = memref.extract_aligned_pointer_as_index %m : !m -> index
  %i = arith.index_cast %p : index to i64
  %start = arith.shrui %i, %c4 : i64
  %d = arith.ori %start, %rest : i64
  return %d : i64
}

func.func private @multiply(%a: i64, %b: i64) {
  %c = llvm.mlir.undef : !d
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D [<f32>, <zero>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  return
}

// WARPS: error: nvvm.wgmma.fence.aligned: the warpgroup is not complete, and all of its 128 threads have to take part
// WARPS: help: launch a multiple of 128 threads
func.func @two_warps(%m: !m) attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
  %rest = arith.constant 0x0000000800400000 : i64
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  func.call @multiply(%d, %d) : (i64, i64) -> ()
  return
}

// NOWHERE: error: nvvm.wgmma.mma_async: the descriptor's address is not in workgroup memory
func.func @nowhere() attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  %d = arith.constant 0x0000000800400000 : i64
  func.call @multiply(%d, %d) : (i64, i64) -> ()
  return
}

// BASE: error: nvvm.wgmma.mma_async: the interpreter knows swizzled matrices with a base offset of 0 only
func.func @base_offset(%m: !m) attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  // 128-byte swizzle, and 1 in the bits from 49 on.
  %rest = arith.constant 0x4002004000010000 : i64
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  func.call @multiply(%d, %d) : (i64, i64) -> ()
  return
}

// DIFFERENT: error: nvvm.wgmma.mma_async: the threads of the warpgroup have different descriptors of one matrix
// DIFFERENT-NEXT: this: thread 1 of block 0
func.func @different(%m: !m) attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  %rest = arith.constant 0x0000000800400000 : i64
  %t = gpu.thread_id x
  %i = arith.index_cast %t : index to i64
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  %e = arith.addi %d, %i : i64
  func.call @multiply(%d, %e) : (i64, i64) -> ()
  return
}

memref.global "private" @aligned_to_16 : !m {alignment = 16}

// ALIGN: error: nvvm.wgmma.mma_async: @aligned_to_16 is aligned to 16 bytes, and the access needs 1024
func.func @misaligned() attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  %rest = arith.constant 0x4000004000010000 : i64
  %m = memref.get_global @aligned_to_16 : !m
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  func.call @multiply(%d, %d) : (i64, i64) -> ()
  return
}

// Rows of A are 2 KiB apart.
// BEYOND: error: nvvm.wgmma.mma_async: 16 bytes from byte 8192 on are not inside of argument 0, which has 8192 bytes
func.func @beyond(%m: !m) attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  %rest = arith.constant 0x0000008000400000 : i64
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  func.call @multiply(%d, %d) : (i64, i64) -> ()
  return
}

memref.global "private" @large : memref<131072xi32, 3> {alignment = 16}

// MUCH: error: nvvm.wgmma.mma_async: descriptors reach 256 KiB of workgroup memory, and the block has more
func.func @too_much(%m: !m) attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  %rest = arith.constant 0x0000000800400000 : i64
  %large = memref.get_global @large : memref<131072xi32, 3>
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  func.call @multiply(%d, %d) : (i64, i64) -> ()
  return
}

// POISON: error: nvvm.wgmma.mma_async: an operand holds no value on this path
func.func @poison(%m: !m) attributes {gpu.known_block_size = array<i32: 128, 1, 1>} {
  %rest = arith.constant 0x0000000800400000 : i64
  %d = func.call @descriptor(%m, %rest) : (!m, i64) -> i64
  %c = llvm.mlir.undef : !d
  nvvm.wgmma.fence.aligned
  %e = nvvm.wgmma.mma_async %d, %d, %c, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
  return
}
