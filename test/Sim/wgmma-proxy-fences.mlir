// Threads write B, and a multiplication reads it: in token form, what is between proxies is the business of the passes. Counted, the
// fence is there; without it, async-sim finds what is not passed on.
//
// RUN: async-sim %s --arg 0=random | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --arg 0=random --refines=%s | FileCheck %s
// RUN: sed '/fence.proxy/d' %t.counted.mlir | not async-sim - --kernel=stored | FileCheck %s --check-prefix=STORED
// RUN: sed '/fence.proxy/d' %t.counted.mlir | not async-sim - --kernel=copied | FileCheck %s --check-prefix=COPIED
//
// What orders threads is the program's.
// RUN: sed '/gpu.barrier/d' %s | not async-sim - --kernel=stored | FileCheck %s --check-prefix=NO-BARRIER

!ws = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @fences {
  // CHECK-DAG: stored: clean
  // CHECK-DAG: copied: clean

  func.func private @describe(%x: memref<64x64xf16>) -> !map {
    %c64 = arith.constant 64 : index
    %any = memref.cast %x : memref<64x64xf16> to memref<*xf16>
    %map = nvgpu.tma.create.descriptor %any box[%c64, %c64] : memref<*xf16> -> !map
    return %map : !map
  }

  // A thread has half of a row.
  func.func private @place() -> (index, index) {
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %row = arith.divui %t, %c2 : index
    %half = arith.remui %t, %c2 : index
    %column = arith.muli %half, %c32 : index
    return %row, %column : index, index
  }

  // STORED: error: missing fence: gpux.wgmma goes through the asynchronous proxy to what was written through the generic one
  // STORED-NEXT: this:
  // STORED-NEXT: against: vector.store
  // NO-BARRIER: error: RAW race: gpux.wgmma reads what
  gpu.func @stored(%x: memref<64x64xf16>, %out: memref<64x64xf32>) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %map = func.call @describe(%x) : (memref<64x64xf16>) -> !map
    %row, %column = func.call @place() : () -> (index, index)
    %v = vector.load %x[%row, %column] : memref<64x64xf16>, vector<32xf16>
    vector.store %v, %a[%row, %column] : !ws, vector<32xf16>
    gpu.barrier
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.return
  }

  // COPIED: error: missing fence: gpux.wgmma goes through the asynchronous proxy to what was written through the generic one
  // COPIED-NEXT: this:
  // COPIED-NEXT: against: gpux.copy
  gpu.func @copied(%x: memref<64x64xf16>, %out: memref<64x64xf32>) workgroup(%a: !ws {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %map = func.call @describe(%x) : (memref<64x64xf16>) -> !map
    %row, %column = func.call @place() : () -> (index, index)
    %last = scf.for %i = %c0 to %c32 step %c8 iter_args(%before = %c0) -> index {
      %at = arith.addi %column, %i : index
      %t = gpux.copy async %x[%row, %at], %a[%row, %at], 8 : memref<64x64xf16> to !ws
      async.await %t
      scf.yield %at : index
    }
    gpu.barrier
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !ws, !map -> !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %u = gpux.wgmma async %da, %da, %c : !m, !m, !acc
    async.await %u
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
