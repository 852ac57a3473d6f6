// A multiplication that nobody waits for is told once, not once for each of its instructions: what it adds to is complete when it is.
//
// RUN: not async-sim %s | FileCheck %s --check-prefix=TOKENS
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: not async-sim %t.counted.mlir | FileCheck %s --check-prefix=COUNTED
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: not async-sim %t.nvvm.mlir | FileCheck %s --check-prefix=NVVM

!tile = memref<128x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

// TOKENS: error: gpux.wgmma: the kernel ends and nobody has waited for this
// TOKENS-NOT: gpux.wgmma
// TOKENS: not clean
// COUNTED: error: gpux.wgmma: no group is committed after this, so that no wait waits for it
// COUNTED-NOT: gpux.wgmma
// COUNTED: not clean
// NVVM: error: nvvm.wgmma.mma_async: no group is committed after this, so that no wait waits for it
// NVVM-NOT: error
// NVVM: also: never-committed of nvvm.wgmma.mma_async
// NVVM-NOT: nvvm.wgmma.mma_async
// NVVM: not clean
gpu.module @kernels {
  gpu.func @unawaited(%x: !map) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first, %t = gpux.wgmma async %d, %d, %z {transpose_b} : !m, !m, !acc
    %second, %u = gpux.wgmma async %d, %d, %first {transpose_b} : !m, !m, !acc
    gpu.return
  }
}
