// What a warp of a role does alone, without others, makes it no role of its own: its loop is that of its warpgroup.

// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-split-roles --gpux-tokens-to-groups | FileCheck %s
// RUN: async-sim %s --arg 0=64x512:random --arg 1=64x512:random --arg 2=3

// CHECK: scf.for
// CHECK: gpux.wgmma
// CHECK: scf.for
// CHECK-NOT: gpux.wgmma
// CHECK-NOT: scf.for
// CHECK: gpu.return

!slots = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!part = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @k {
  gpu.func @f(%map_a: !map, %map_b: !map, %n: index, %out: memref<1x64x64xf32>, %o5: memref<32xf32>) workgroup(%as: !slots, %bs: !slots) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %cS = arith.constant 2 : index
    %tid = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %consumes = arith.cmpi ult, %warp, %c4 : index
    %i0 = arith.constant 0 : index
    %k0 = arith.constant 0 : index
    %a0 = memref.subview %as[%i0, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !part
    %b0 = memref.subview %bs[%i0, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !part
    %ta0 = gpux.tma_load async %map_a[%c0, %k0], %a0 {issuer = 4 : i32} : !map, !part
    %tb0 = gpux.tma_load async %map_b[%c0, %k0], %b0 {issuer = 4 : i32} : !map, !part
    %ah = arith.constant 1 : index
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %ready = async.ready
    %l:4 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %z, %before = %ready, %f0 = %ta0, %f1 = %tb0) -> (!acc, !async.token, !async.token, !async.token) {
      %slot = arith.remui %i, %cS : index
      %nexti = arith.addi %i, %ah : index
      %other = arith.remui %nexti, %cS : index
      %e, %t = scf.if %consumes -> (!acc, !async.token) {
        %a = memref.subview %as[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !part
        %b = memref.subview %bs[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !part
        async.await %f0, %f1
        %da = nvgpu.warpgroup.generate.descriptor %a, %map_a : !part, !map -> !m
        %db = nvgpu.warpgroup.generate.descriptor %b, %map_b : !part, !map -> !m
        %product, %u = gpux.wgmma async %da, %db, %sum {transpose_b} : !m, !m, !acc
        async.await %before
        scf.yield %product, %u : !acc, !async.token
      } else {
        scf.yield %sum, %before : !acc, !async.token
      }
      %an = memref.subview %as[%other, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !part
      %bn = memref.subview %bs[%other, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !part
      %col = arith.muli %nexti, %c64 : index
      %ra = gpux.tma_load async %map_a[%c0, %col], %an {issuer = 4 : i32} : !map, !part
      %rb = gpux.tma_load async %map_b[%c0, %col], %bn {issuer = 4 : i32} : !map, !part
      scf.yield %e, %t, %ra, %rb : !acc, !async.token, !async.token, !async.token
    }
    scf.if %consumes {
      async.await %l#1
      async.await %l#2, %l#3
      %o = memref.subview %out[%c0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xf32> to memref<64x64xf32, strided<[64, 1], offset: ?>>
      nvgpu.warpgroup.mma.store %l#0, %o : !acc to memref<64x64xf32, strided<[64, 1], offset: ?>>
    }
    %is0 = arith.cmpi eq, %warp, %c0 : index
    scf.if %is0 {
      %hh = arith.constant 2.0 : f32
      memref.store %hh, %o5[%tid] : memref<32xf32>
    }
    gpu.return
  }
}
