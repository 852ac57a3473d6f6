// C = A * B as in gemm_wgmma.mlir, with roles: two warpgroups multiply, and one warp of a third one does nothing but load. The loop is the one
// that is meant, and all warps run it: load a tile of A and of B; those that multiply wait for them, multiply and wait. It says that it
// wants four stages, which warps multiply, and which one issues the loads, and no more.
//
//   async-opt gemm_wgmma_roles.mlir --gpux-lower-to-nvvm="chip=sm_90a format=isa pipeline=true computed-slots=true round-rings=true" | async-translate --ptx
//   async-sim gemm_wgmma_roles.mlir --arg 0=128x64:random --arg 1=256x64:random --arg 2=128x256:zero --arg 3=64
//
// Shape: as in gemm_wgmma.mlir, a block computes a 128x256 tile of C in k-steps of 64, and a warpgroup multiplies 64 rows of A by all of B's
// tile. Lowered, each role has a loop of its own. For a k-step, a warpgroup waits once for the tiles, leaves one group of products in
// flight, and arrives once where the slot of the k-step before is free; the warp that loads waits once for both warpgroups, says once how
// many bytes to expect, and issues two loads. No barrier of the block is in these loops. The slots, the rotation of tokens, the count of
// groups, the mbarriers, their parities and arrivals, and the barrier after the loops are derived, not written.
//
// Registers: a block of 384 threads starts with 168 for each. The warpgroup that loads keeps 24, and the others take 240: 64512 in all.
//
// Launch: any M and N, and K that are multiples of 8 (N of 4): what lies outside is loaded as zeros, and not stored. blockDim = 384,
// gridDim = (M/128, N/256), rounded up; 196608 bytes of dynamic shared memory, which the host has to allow first
// (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).

!ATile = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b,
                                     oob = zero, interleave = none>
!BTile = !nvgpu.tensormap.descriptor<tensor = memref<256x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b,
                                     oob = zero, interleave = none>
!CTile = !nvgpu.tensormap.descriptor<tensor = memref<128x256xf32, 3>, swizzle = none, l2promo = none,
                                     oob = zero, interleave = none>
!ASmem = memref<128x64xf16, #gpu.address_space<workgroup>>
!BSmem = memref<256x64xf16, #gpu.address_space<workgroup>>
!CSmem = memref<128x256xf32, #gpu.address_space<workgroup>>
!ARows = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!CRows = memref<64x256xf32, strided<[256, 1], offset: ?>, #gpu.address_space<workgroup>>
!A = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!B = !nvgpu.warpgroup.descriptor<tensor = memref<256x64xf16, #gpu.address_space<workgroup>>>
!Acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x256xf32>>

gpu.module @gemm {
  gpu.func @gemm_wgmma_roles(%A: !ATile, %B: !BTile, %C: !CTile, %K: i32) workgroup(%As: !ASmem, %Bs: !BSmem, %Cs: !CSmem) kernel
      attributes {known_block_size = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant 64 : i32
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index

    // The host has copied the tensor maps to where the kernel's pointers point: each block fences them before the first use.
    nvgpu.tma.fence.descriptor %A : !ATile
    nvgpu.tma.fence.descriptor %B : !BTile
    nvgpu.tma.fence.descriptor %C : !CTile

    // This block's tile of C, and this warpgroup's rows of it.
    %block_x = gpu.block_id x
    %block_y = gpu.block_id y
    %m = arith.muli %block_x, %c128 : index
    %n = arith.muli %block_y, %c256 : index
    %thread = gpu.thread_id x
    %warpgroup = arith.divui %thread, %c128 : index
    %row = arith.muli %warpgroup, %c64 : index

    // Warps 0 to 7 multiply, warp 8 loads. Who does not multiply needs few registers.
    %warp = gpu.subgroup_id : index
    %multiplies = arith.cmpi ult, %warp, %c8 : index
    scf.if %multiplies {
      nvvm.setmaxregister increase 240
    } else {
      nvvm.setmaxregister decrease 24
    }

    %zero = nvgpu.warpgroup.mma.init.accumulator -> !Acc
    %steps = arith.ceildivui %K, %step : i32
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!Acc) : i32 {
      %first = arith.muli %i, %step : i32
      %k = arith.index_cast %first : i32 to index
      %ta = gpux.tma_load async %A[%m, %k], %As {issuer = 8 : i32} : !ATile, !ASmem
      %tb = gpux.tma_load async %B[%n, %k], %Bs {issuer = 8 : i32} : !BTile, !BSmem
      %next = scf.if %multiplies -> (!Acc) {
        async.await %ta, %tb
        %rows = memref.subview %As[%row, 0] [64, 64] [1, 1] : !ASmem to !ARows
        %a = nvgpu.warpgroup.generate.descriptor %rows, %A : !ARows, !ATile -> !A
        %b = nvgpu.warpgroup.generate.descriptor %Bs, %B : !BSmem, !BTile -> !B
        %more, %product = gpux.wgmma async %a, %b, %acc {transpose_b} : !A, !B, !Acc
        async.await %product
        scf.yield %more : !Acc
      } else {
        scf.yield %acc : !Acc
      }
      scf.yield %next : !Acc
    } {async.num_stages = 4}

    // The tile of C goes where those of B were, which nobody needs any more.
    scf.if %multiplies {
      %own = memref.subview %Cs[%row, 0] [64, 256] [1, 1] : !CSmem to !CRows
      nvgpu.warpgroup.mma.store %sum, %own : !Acc to !CRows
    }
    %read, %done = gpux.tma_store async %Cs, %C[%m, %n] : !CSmem, !CTile
    async.await %read
    gpu.return
  }
}
