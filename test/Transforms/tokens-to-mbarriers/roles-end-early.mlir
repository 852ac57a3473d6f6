// Warps that have nothing to do don't end before the others have loaded: all threads meet before that. Where a warpgroup multiplies, too,
// of which such an end leaves a part.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-mbarriers

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c5 = arith.constant 5 : index
    %warp = gpu.subgroup_id : index
    %spare = arith.cmpi uge, %warp, %c5 : index
    scf.if %spare {
      // expected-note @+2 {{let roles come together again before any of them ends: put what is for other warps into an scf.if instead}}
      // expected-error @+1 {{'nvvm.exit' op ends warps 5, 6 and 7, but the threads of the block meet later on}}
      nvvm.exit
    }
    // expected-note @+1 {{'gpux.bulk_load' is executed by all of them}}
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    async.await %t
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = !tile>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  gpu.func @multiplies(%x: !map, %out: memref<64x64xf32>) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %spare = arith.cmpi uge, %warp, %c5 : index
    scf.if %spare {
      // expected-note @+2 {{let roles come together again before any of them ends: put what is for other warps into an scf.if instead}}
      // expected-error @+1 {{'nvvm.exit' op ends warps 5, 6 and 7, but the threads of the block meet later on}}
      nvvm.exit
    }
    // expected-note @+1 {{'gpux.tma_load' is executed by all of them}}
    %t = gpux.tma_load async %x[%c0, %c0], %a {issuer = 4 : i32} : !map, !tile
    scf.if %first {
      %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
      async.await %t
      %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !matrix
      %sum, %product = gpux.wgmma async %d, %d, %zero {transpose_b} : !matrix, !matrix, !acc
      async.await %product
      nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<64x64xf32>
    }
    gpu.return
  }
}
