// Multiplications that add to one result run in order: whoever awaits the last one has awaited them all.

// RUN: async-sim %s | FileCheck %s

// CHECK: clean

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!v = vector<1x8x2x2xf32>
!h = vector<1x8x2x2xf16>
gpu.module @k {
  gpu.func @f(%x: !map, %y: !map, %n: index, %flag: i1, %out: memref<64x64xf32>, %out2: memref<64x64xf32>) workgroup(%a: !tile {llvm.align = 1024 : i64}, %b: !tile {llvm.align = 1024 : i64}, %c: !tile {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %tid = gpu.thread_id x
    %ta = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    %tb = gpux.tma_load async %y[%c0, %c0], %b : !map, !tile
    async.await %ta, %tb
    %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %db = nvgpu.warpgroup.generate.descriptor %b, %y : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %da, %db, %z : !m, !m, !acc
    %e, %u = gpux.wgmma async %db, %db, %d : !m, !m, !acc
    %g, %w = gpux.wgmma async %da, %db, %e : !m, !m, !acc
    async.await %w
    nvgpu.warpgroup.mma.store %g, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
