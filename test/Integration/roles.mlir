// A producer and a consumer, to machine code: warp 4 loads by the TMA engine, warps 0 to 3 multiply. Each role has a loop of its own.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory --gpux-lower-to-nvvm="chip=sm_90a format=isa" -o %t.mlir
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: nvdisasm %t.cubin > %t.sass
// RUN: FileCheck %s --input-file %t.sass --check-prefix=SASS

// It computes the same on mbarriers, counted, and with code of its own for each role.
//
// RUN: async-sim %s --arg 0=random --arg 1=random --arg 2=5 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-split-roles --gpux-tokens-to-groups --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 1=random --arg 2=5 --refines=%s | FileCheck %s --check-prefix=SIM

// SILENT-NOT: {{.}}
// SIM: gemm: clean

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!btile = memref<128x64xf16, #gpu.address_space<workgroup>>
!part = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!bpart = memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bmap = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!bmatrix = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>

// One barrier of the block, for the initialization. A consumer has one wait and one arrival for each step; four instructions are a
// group, and one stays in flight. Then the producer: its first loads wait for nothing; for each step it has one wait, one
// expectation and two loads.
//
// SASS-LABEL: .text.gemm:
// SASS: BAR.SYNC
// SASS: USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: SYNCS.PHASECHK.TRANS64.TRYWAIT
// SASS: WARPGROUP.ARRIVE
// SASS: HGMMA.64x128x16.F32 {{.*}}gsb0
// SASS: WARPGROUP.DEPBAR.LE gsb0, 0x1
// SASS-NOT: {{SYNCS|BAR.SYNC|BRA}}
// SASS: SYNCS.ARRIVE.TRANS64.A1T0
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: WARPGROUP.DEPBAR.LE gsb0, 0x0
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: SYNCS.PHASECHK.TRANS64.TRYWAIT
// SASS: USETMAXREG.DEALLOC.CTAPOOL 0x18
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: SYNCS.ARRIVE.TRANS64
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: UTMALDG.2D
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: UTMALDG.2D
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: SYNCS.PHASECHK.TRANS64.TRYWAIT
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: SYNCS.ARRIVE.TRANS64
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: UTMALDG.2D
// SASS-NOT: {{SYNCS|BAR.SYNC}}
// SASS: UTMALDG.2D
// SASS-NOT: BAR.SYNC
gpu.module @roles {
  gpu.func @gemm(%map_a: !map, %map_b: !bmap, %k: index, %out: memref<64x128xf32>)
      workgroup(%as: memref<2x64x64xf16, #gpu.address_space<workgroup>>, %bs: memref<2x128x64xf16, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %warp = gpu.subgroup_id : index
    %consumes = arith.cmpi ult, %warp, %c4 : index
    scf.if %consumes {
      nvvm.setmaxregister increase 240
    } else {
      nvvm.setmaxregister decrease 24
    }
    %a0 = memref.subview %as[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !tile
    %b0 = memref.subview %bs[0, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #gpu.address_space<workgroup>> to !btile
    %ta = gpux.tma_load async %map_a[%c0, %c0], %a0 {issuer = 4 : i32} : !map, !tile
    %tb = gpux.tma_load async %map_b[%c0, %c0], %b0 {issuer = 4 : i32} : !bmap, !btile
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %ready = async.ready
    %d, %last, %la, %lb = scf.for %i = %c0 to %k step %c1 iter_args(%sum = %c, %before = %ready, %fa = %ta, %fb = %tb) -> (!acc, !async.token, !async.token, !async.token) {
      %slot = arith.andi %i, %c1 : index
      %other = arith.subi %c1, %slot : index
      %e, %t = scf.if %consumes -> (!acc, !async.token) {
        %a = memref.subview %as[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !part
        %b = memref.subview %bs[%slot, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #gpu.address_space<workgroup>> to !bpart
        async.await %fa, %fb
        %da = nvgpu.warpgroup.generate.descriptor %a, %map_a : !part, !map -> !matrix
        %db = nvgpu.warpgroup.generate.descriptor %b, %map_b : !bpart, !bmap -> !bmatrix
        %product, %u = gpux.wgmma async %da, %db, %sum {transpose_b} : !matrix, !bmatrix, !acc
        async.await %before
        scf.yield %product, %u : !acc, !async.token
      } else {
        scf.yield %sum, %before : !acc, !async.token
      }
      %an = memref.subview %as[%other, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !part
      %bn = memref.subview %bs[%other, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #gpu.address_space<workgroup>> to !bpart
      %next = arith.addi %i, %c1 : index
      %col = arith.muli %next, %c64 : index
      %ra = gpux.tma_load async %map_a[%c0, %col], %an {issuer = 4 : i32} : !map, !part
      %rb = gpux.tma_load async %map_b[%c0, %col], %bn {issuer = 4 : i32} : !bmap, !bpart
      scf.yield %e, %t, %ra, %rb : !acc, !async.token, !async.token, !async.token
    }
    scf.if %consumes {
      async.await %last
      async.await %la, %lb
      nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x128xf32>
    }
    gpu.return
  }
}
