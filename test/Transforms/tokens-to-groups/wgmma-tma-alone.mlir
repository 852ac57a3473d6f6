// What the TMA engine loads needs no fence of proxies, and an mbarrier is no part of a matrix.

// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups | FileCheck %s

// CHECK: gpux.tma_load
// CHECK: nvvm.mbarrier.inval
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpux.wgmma

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @k {
  gpu.func @f(%x: !map, %out: memref<64x64xf32>) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ta = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %ta
    %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %da, %z : !m, !m, !acc
    async.await %t
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
