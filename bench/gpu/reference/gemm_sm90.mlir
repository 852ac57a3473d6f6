// C = A * B on the tensor cores, with tiles that the tensor memory accelerator (TMA) of sm_90 moves: fp16 in, fp32
// accumulation, fp16 out, all row-major.
//
//   async-opt gemm_sm90.mlir --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx
//
// The pipeline of gemm_sm80.mlir, with three loads in the place of its 1024 copies, and without its epilogue: the tiles
// that lie past the end of K are loaded as zeros. The loads of one k-step are awaited together, so that they share a
// phase of 16384 bytes; its mbarrier, its parity and the barrier before a slot is filled again are counted, not written.
//
// Shape: a block of 128 threads (4 warps, 2x2, each 64x64) computes a 128x128 tile of C in k-steps of 32. Four slots of
// A (128x32) and B (two halves of 32x64) in shared memory; three tiles are in flight while one is computed. Inside a
// k-step the fragments of one half (k = 16) are loaded while the other half is multiplied. The TMA swizzles what it
// writes, so that the 8 rows of an ldmatrix lie in 8 different bank groups; the addresses below undo that by an XOR.
//
// Launch: any M, any N and K that are multiples of 8 (rows of 16 bytes): what lies outside is loaded as zeros, and not
// stored. blockDim = 128, gridDim = (band, N/128, M/128/band), rounded up, for any `band`; 65536 bytes of dynamic shared
// memory, which the host has to allow first (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).
//
// Unrolled by hand: fragment `ai` of A is its i-th 16x16 block, `bj` of B its j-th 16x16 block, of which `bjl` and `bjh`
// are the left and right 8 columns; accumulator `ij` is the 16x8 block in row i and column j of the warp's 64x64.

!ATile = !nvgpu.tensormap.descriptor<tensor = memref<128x32xf16, 3>, swizzle = swizzle_64b, l2promo = l2promo_128b,
                                     oob = zero, interleave = none>
!BTile = !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b,
                                     oob = zero, interleave = none>
!CTile = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none,
                                     oob = zero, interleave = none>
!Bytes = memref<?xi8, #gpu.address_space<workgroup>>
!ASmem = memref<4x128x32xf16, #gpu.address_space<workgroup>>
!BSmem = memref<4x2x32x64xf16, #gpu.address_space<workgroup>>
!CSmem = memref<2x128x64xf16, #gpu.address_space<workgroup>>
!ASlot = memref<128x32xf16, strided<[32, 1], offset: ?>, #gpu.address_space<workgroup>>
!BSlot = memref<32x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!CHalf = memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!Frag = vector<4x2xf16>
!Half = vector<2x2xf16>
!Acc = vector<2x2xf32>

gpu.module @gemm {
  gpu.func @gemm_f16_sm90(%A: !ATile, %B: !BTile, %C: !CTile, %K: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %bs_offset = arith.constant 32768 : index
    %zero = arith.constant dense<0.0> : !Acc

    // The host has copied the tensor maps to where the kernel's pointers point: each block fences them before the first use.
    nvgpu.tma.fence.descriptor %A : !ATile
    nvgpu.tma.fence.descriptor %B : !BTile
    nvgpu.tma.fence.descriptor %C : !CTile

    %smem = gpu.dynamic_shared_memory : !Bytes
    %As = memref.view %smem[%c0][] : !Bytes to !ASmem
    %Bs = memref.view %smem[%bs_offset][] : !Bytes to !BSmem

    // This block's tile of C. Blocks of one `z` cover a band of `gridDim.x` tile rows column by column, so that blocks
    // that run at the same time share rows of A and columns of B in L2.
    %block_x = gpu.block_id x
    %block_y = gpu.block_id y
    %block_z = gpu.block_id z
    %band = gpu.grid_dim x
    %band_first = arith.muli %block_z, %band : index
    %tile_m = arith.addi %band_first, %block_x : index
    %m0 = arith.muli %tile_m, %c128 : index
    %n0 = arith.muli %block_y, %c128 : index
    %n1 = arith.addi %n0, %c64 : index

    // What this lane addresses for ldmatrix: row lane%16 of a 16x16 block, its left or right chunk of 16 bytes (lane/16).
    // Warp (warp%2, warp/2) owns rows 64*(warp%2).. and half warp/2 of the columns of the block's tile.
    %tid = gpu.thread_id x
    %lane = arith.remui %tid, %c32 : index
    %warp = arith.divui %tid, %c32 : index
    %warp_m = arith.remui %warp, %c2 : index
    %half = arith.divui %warp, %c2 : index
    %wm = arith.muli %warp_m, %c64 : index
    %l_row = arith.remui %lane, %c16 : index
    %l_side = arith.divui %lane, %c16 : index

    // Rows of A have 64 bytes: chunk c of row r lies at chunk c ^ (r/2 % 4).
    %la_row0 = arith.addi %wm, %l_row : index
    %la_row1 = arith.addi %la_row0, %c16 : index
    %la_row2 = arith.addi %la_row0, %c32 : index
    %la_row3 = arith.addi %la_row0, %c48 : index
    %la_pair = arith.divui %l_row, %c2 : index
    %la_key = arith.andi %la_pair, %c3 : index
    %la_chunk0 = arith.xori %l_side, %la_key : index
    %la_chunk1 = arith.xori %la_chunk0, %c2 : index
    %la_col0 = arith.muli %la_chunk0, %c8 : index
    %la_col1 = arith.muli %la_chunk1, %c8 : index

    // Rows of B have 128 bytes: chunk c of row r lies at chunk c ^ (r % 8).
    %lb_row1 = arith.addi %l_row, %c16 : index
    %lb_key = arith.andi %lane, %c7 : index
    %lb_chunk0 = arith.xori %l_side, %lb_key : index
    %lb_chunk1 = arith.xori %lb_chunk0, %c2 : index
    %lb_chunk2 = arith.xori %lb_chunk0, %c4 : index
    %lb_chunk3 = arith.xori %lb_chunk0, %c6 : index
    %lb_col0 = arith.muli %lb_chunk0, %c8 : index
    %lb_col1 = arith.muli %lb_chunk1, %c8 : index
    %lb_col2 = arith.muli %lb_chunk2, %c8 : index
    %lb_col3 = arith.muli %lb_chunk3, %c8 : index

    // Prologue: tiles 0 to 2 are on their way; tile 0 is awaited, and its first half goes into registers.
    %As_0 = memref.subview %As[%c0, 0, 0] [1, 128, 32] [1, 1, 1] : !ASmem to !ASlot
    %Bs_0l = memref.subview %Bs[%c0, 0, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
    %Bs_0r = memref.subview %Bs[%c0, 1, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
    %ta_0 = gpux.tma_load async %A[%m0, %c0], %As_0 : !ATile, !ASlot
    %tl_0 = gpux.tma_load async %B[%c0, %n0], %Bs_0l : !BTile, !BSlot
    %tr_0 = gpux.tma_load async %B[%c0, %n1], %Bs_0r : !BTile, !BSlot
    %t_0 = async.join %ta_0, %tl_0, %tr_0
    %As_1 = memref.subview %As[%c1, 0, 0] [1, 128, 32] [1, 1, 1] : !ASmem to !ASlot
    %Bs_1l = memref.subview %Bs[%c1, 0, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
    %Bs_1r = memref.subview %Bs[%c1, 1, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
    %ta_1 = gpux.tma_load async %A[%m0, %c32], %As_1 : !ATile, !ASlot
    %tl_1 = gpux.tma_load async %B[%c32, %n0], %Bs_1l : !BTile, !BSlot
    %tr_1 = gpux.tma_load async %B[%c32, %n1], %Bs_1r : !BTile, !BSlot
    %t_1 = async.join %ta_1, %tl_1, %tr_1
    %As_2 = memref.subview %As[%c2, 0, 0] [1, 128, 32] [1, 1, 1] : !ASmem to !ASlot
    %Bs_2l = memref.subview %Bs[%c2, 0, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
    %Bs_2r = memref.subview %Bs[%c2, 1, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
    %ta_2 = gpux.tma_load async %A[%m0, %c64], %As_2 : !ATile, !ASlot
    %tl_2 = gpux.tma_load async %B[%c64, %n0], %Bs_2l : !BTile, !BSlot
    %tr_2 = gpux.tma_load async %B[%c64, %n1], %Bs_2r : !BTile, !BSlot
    %t_2 = async.join %ta_2, %tl_2, %tr_2
    async.await %t_0
    %ap0 = nvgpu.ldmatrix %As[%c0, %la_row0, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %ap1 = nvgpu.ldmatrix %As[%c0, %la_row1, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %ap2 = nvgpu.ldmatrix %As[%c0, %la_row2, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %ap3 = nvgpu.ldmatrix %As[%c0, %la_row3, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %bp0 = nvgpu.ldmatrix %Bs[%c0, %half, %l_row, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %bp1 = nvgpu.ldmatrix %Bs[%c0, %half, %l_row, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %bp2 = nvgpu.ldmatrix %Bs[%c0, %half, %l_row, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %bp3 = nvgpu.ldmatrix %Bs[%c0, %half, %l_row, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag

    // Main loop, one k-step per iteration. When iteration %k begins, tile %k is in shared memory, its first half in
    // registers, and tiles %k+1 and %k+2 are in flight.
    %k_tiles = arith.ceildivui %K, %c32 : index
    %token:2, %frag:8, %sum:32 = scf.for %k = %c0 to %k_tiles step %c1
        iter_args(%t_k1 = %t_1, %t_k2 = %t_2,
                  %a0 = %ap0, %a1 = %ap1, %a2 = %ap2, %a3 = %ap3,
                  %b0 = %bp0, %b1 = %bp1, %b2 = %bp2, %b3 = %bp3,
                  %acc00 = %zero, %acc01 = %zero, %acc02 = %zero, %acc03 = %zero, %acc04 = %zero, %acc05 = %zero, %acc06 = %zero, %acc07 = %zero,
                  %acc10 = %zero, %acc11 = %zero, %acc12 = %zero, %acc13 = %zero, %acc14 = %zero, %acc15 = %zero, %acc16 = %zero, %acc17 = %zero,
                  %acc20 = %zero, %acc21 = %zero, %acc22 = %zero, %acc23 = %zero, %acc24 = %zero, %acc25 = %zero, %acc26 = %zero, %acc27 = %zero,
                  %acc30 = %zero, %acc31 = %zero, %acc32 = %zero, %acc33 = %zero, %acc34 = %zero, %acc35 = %zero, %acc36 = %zero, %acc37 = %zero)
        -> (!async.token, !async.token, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc) {
      %slot = arith.andi %k, %c3 : index
      %k_next = arith.addi %k, %c1 : index
      %next_slot = arith.andi %k_next, %c3 : index
      // Tile %k+3 into the slot of tile %k-1.
      %k_load = arith.addi %k, %c3 : index
      %load_slot = arith.andi %k_load, %c3 : index
      %k0 = arith.muli %k_load, %c32 : index
      %As_k3 = memref.subview %As[%load_slot, 0, 0] [1, 128, 32] [1, 1, 1] : !ASmem to !ASlot
      %Bs_k3l = memref.subview %Bs[%load_slot, 0, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
      %Bs_k3r = memref.subview %Bs[%load_slot, 1, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !BSmem to !BSlot
      %ta_k3 = gpux.tma_load async %A[%m0, %k0], %As_k3 : !ATile, !ASlot
      %tl_k3 = gpux.tma_load async %B[%k0, %n0], %Bs_k3l : !BTile, !BSlot
      %tr_k3 = gpux.tma_load async %B[%k0, %n1], %Bs_k3r : !BTile, !BSlot
      %t_k3 = async.join %ta_k3, %tl_k3, %tr_k3
      // The second half of tile %k into registers.
      %x0 = nvgpu.ldmatrix %As[%slot, %la_row0, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %x1 = nvgpu.ldmatrix %As[%slot, %la_row1, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %x2 = nvgpu.ldmatrix %As[%slot, %la_row2, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %x3 = nvgpu.ldmatrix %As[%slot, %la_row3, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %y0 = nvgpu.ldmatrix %Bs[%slot, %half, %lb_row1, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %y1 = nvgpu.ldmatrix %Bs[%slot, %half, %lb_row1, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %y2 = nvgpu.ldmatrix %Bs[%slot, %half, %lb_row1, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %y3 = nvgpu.ldmatrix %Bs[%slot, %half, %lb_row1, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      // The first half of tile %k.
      %b0l = vector.shuffle %b0, %b0 [0, 1] : !Frag, !Frag
      %b0h = vector.shuffle %b0, %b0 [2, 3] : !Frag, !Frag
      %b1l = vector.shuffle %b1, %b1 [0, 1] : !Frag, !Frag
      %b1h = vector.shuffle %b1, %b1 [2, 3] : !Frag, !Frag
      %b2l = vector.shuffle %b2, %b2 [0, 1] : !Frag, !Frag
      %b2h = vector.shuffle %b2, %b2 [2, 3] : !Frag, !Frag
      %b3l = vector.shuffle %b3, %b3 [0, 1] : !Frag, !Frag
      %b3h = vector.shuffle %b3, %b3 [2, 3] : !Frag, !Frag
      %p00 = nvgpu.mma.sync(%a0, %b0l, %acc00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p01 = nvgpu.mma.sync(%a0, %b0h, %acc01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p02 = nvgpu.mma.sync(%a0, %b1l, %acc02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p03 = nvgpu.mma.sync(%a0, %b1h, %acc03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p04 = nvgpu.mma.sync(%a0, %b2l, %acc04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p05 = nvgpu.mma.sync(%a0, %b2h, %acc05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p06 = nvgpu.mma.sync(%a0, %b3l, %acc06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p07 = nvgpu.mma.sync(%a0, %b3h, %acc07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p10 = nvgpu.mma.sync(%a1, %b0l, %acc10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p11 = nvgpu.mma.sync(%a1, %b0h, %acc11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p12 = nvgpu.mma.sync(%a1, %b1l, %acc12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p13 = nvgpu.mma.sync(%a1, %b1h, %acc13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p14 = nvgpu.mma.sync(%a1, %b2l, %acc14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p15 = nvgpu.mma.sync(%a1, %b2h, %acc15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p16 = nvgpu.mma.sync(%a1, %b3l, %acc16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p17 = nvgpu.mma.sync(%a1, %b3h, %acc17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p20 = nvgpu.mma.sync(%a2, %b0l, %acc20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p21 = nvgpu.mma.sync(%a2, %b0h, %acc21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p22 = nvgpu.mma.sync(%a2, %b1l, %acc22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p23 = nvgpu.mma.sync(%a2, %b1h, %acc23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p24 = nvgpu.mma.sync(%a2, %b2l, %acc24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p25 = nvgpu.mma.sync(%a2, %b2h, %acc25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p26 = nvgpu.mma.sync(%a2, %b3l, %acc26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p27 = nvgpu.mma.sync(%a2, %b3h, %acc27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p30 = nvgpu.mma.sync(%a3, %b0l, %acc30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p31 = nvgpu.mma.sync(%a3, %b0h, %acc31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p32 = nvgpu.mma.sync(%a3, %b1l, %acc32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p33 = nvgpu.mma.sync(%a3, %b1h, %acc33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p34 = nvgpu.mma.sync(%a3, %b2l, %acc34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p35 = nvgpu.mma.sync(%a3, %b2h, %acc35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p36 = nvgpu.mma.sync(%a3, %b3l, %acc36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %p37 = nvgpu.mma.sync(%a3, %b3h, %acc37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      // Tile %k+1 has landed. Its first half into registers.
      async.await %t_k1
      %na0 = nvgpu.ldmatrix %As[%next_slot, %la_row0, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %na1 = nvgpu.ldmatrix %As[%next_slot, %la_row1, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %na2 = nvgpu.ldmatrix %As[%next_slot, %la_row2, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %na3 = nvgpu.ldmatrix %As[%next_slot, %la_row3, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %nb0 = nvgpu.ldmatrix %Bs[%next_slot, %half, %l_row, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %nb1 = nvgpu.ldmatrix %Bs[%next_slot, %half, %l_row, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %nb2 = nvgpu.ldmatrix %Bs[%next_slot, %half, %l_row, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %nb3 = nvgpu.ldmatrix %Bs[%next_slot, %half, %l_row, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      // The second half of tile %k.
      %y0l = vector.shuffle %y0, %y0 [0, 1] : !Frag, !Frag
      %y0h = vector.shuffle %y0, %y0 [2, 3] : !Frag, !Frag
      %y1l = vector.shuffle %y1, %y1 [0, 1] : !Frag, !Frag
      %y1h = vector.shuffle %y1, %y1 [2, 3] : !Frag, !Frag
      %y2l = vector.shuffle %y2, %y2 [0, 1] : !Frag, !Frag
      %y2h = vector.shuffle %y2, %y2 [2, 3] : !Frag, !Frag
      %y3l = vector.shuffle %y3, %y3 [0, 1] : !Frag, !Frag
      %y3h = vector.shuffle %y3, %y3 [2, 3] : !Frag, !Frag
      %q00 = nvgpu.mma.sync(%x0, %y0l, %p00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q01 = nvgpu.mma.sync(%x0, %y0h, %p01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q02 = nvgpu.mma.sync(%x0, %y1l, %p02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q03 = nvgpu.mma.sync(%x0, %y1h, %p03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q04 = nvgpu.mma.sync(%x0, %y2l, %p04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q05 = nvgpu.mma.sync(%x0, %y2h, %p05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q06 = nvgpu.mma.sync(%x0, %y3l, %p06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q07 = nvgpu.mma.sync(%x0, %y3h, %p07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q10 = nvgpu.mma.sync(%x1, %y0l, %p10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q11 = nvgpu.mma.sync(%x1, %y0h, %p11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q12 = nvgpu.mma.sync(%x1, %y1l, %p12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q13 = nvgpu.mma.sync(%x1, %y1h, %p13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q14 = nvgpu.mma.sync(%x1, %y2l, %p14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q15 = nvgpu.mma.sync(%x1, %y2h, %p15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q16 = nvgpu.mma.sync(%x1, %y3l, %p16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q17 = nvgpu.mma.sync(%x1, %y3h, %p17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q20 = nvgpu.mma.sync(%x2, %y0l, %p20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q21 = nvgpu.mma.sync(%x2, %y0h, %p21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q22 = nvgpu.mma.sync(%x2, %y1l, %p22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q23 = nvgpu.mma.sync(%x2, %y1h, %p23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q24 = nvgpu.mma.sync(%x2, %y2l, %p24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q25 = nvgpu.mma.sync(%x2, %y2h, %p25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q26 = nvgpu.mma.sync(%x2, %y3l, %p26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q27 = nvgpu.mma.sync(%x2, %y3h, %p27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q30 = nvgpu.mma.sync(%x3, %y0l, %p30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q31 = nvgpu.mma.sync(%x3, %y0h, %p31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q32 = nvgpu.mma.sync(%x3, %y1l, %p32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q33 = nvgpu.mma.sync(%x3, %y1h, %p33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q34 = nvgpu.mma.sync(%x3, %y2l, %p34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q35 = nvgpu.mma.sync(%x3, %y2h, %p35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q36 = nvgpu.mma.sync(%x3, %y3l, %p36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      %q37 = nvgpu.mma.sync(%x3, %y3h, %p37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
      scf.yield %t_k2, %t_k3,
          %na0, %na1, %na2, %na3, %nb0, %nb1, %nb2, %nb3,
          %q00, %q01, %q02, %q03, %q04, %q05, %q06, %q07,
          %q10, %q11, %q12, %q13, %q14, %q15, %q16, %q17,
          %q20, %q21, %q22, %q23, %q24, %q25, %q26, %q27,
          %q30, %q31, %q32, %q33, %q34, %q35, %q36, %q37
          : !async.token, !async.token, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc
    }
    // Two tiles of zeros are left. Then, once all warps have read theirs, C in fp16 takes the place of A.
    async.await %token#0, %token#1
    gpu.barrier

    // A lane holds columns 2*(lane%4) and the next one of rows lane/4 and lane/4 + 8 of each 16x8 block. Rows have 128
    // bytes, two for each row of C, and are swizzled like those of B: the 8 rows of a store lie in 8 bank groups.
    %Cs = memref.view %smem[%c0][] : !Bytes to !CSmem
    %c_row = arith.divui %lane, %c4 : index
    %c_pair = arith.remui %lane, %c4 : index
    %c_in_chunk = arith.muli %c_pair, %c2 : index
    %row0 = arith.addi %wm, %c_row : index
    %row1 = arith.addi %row0, %c16 : index
    %row2 = arith.addi %row0, %c32 : index
    %row3 = arith.addi %row0, %c48 : index
    %row0_lower = arith.addi %row0, %c8 : index
    %row1_lower = arith.addi %row1, %c8 : index
    %row2_lower = arith.addi %row2, %c8 : index
    %row3_lower = arith.addi %row3, %c8 : index
    %chunk1 = arith.xori %c_row, %c1 : index
    %chunk2 = arith.xori %c_row, %c2 : index
    %chunk3 = arith.xori %c_row, %c3 : index
    %chunk4 = arith.xori %c_row, %c4 : index
    %chunk5 = arith.xori %c_row, %c5 : index
    %chunk6 = arith.xori %c_row, %c6 : index
    %chunk7 = arith.xori %c_row, %c7 : index
    %at0 = arith.muli %c_row, %c8 : index
    %col0 = arith.addi %at0, %c_in_chunk : index
    %at1 = arith.muli %chunk1, %c8 : index
    %col1 = arith.addi %at1, %c_in_chunk : index
    %at2 = arith.muli %chunk2, %c8 : index
    %col2 = arith.addi %at2, %c_in_chunk : index
    %at3 = arith.muli %chunk3, %c8 : index
    %col3 = arith.addi %at3, %c_in_chunk : index
    %at4 = arith.muli %chunk4, %c8 : index
    %col4 = arith.addi %at4, %c_in_chunk : index
    %at5 = arith.muli %chunk5, %c8 : index
    %col5 = arith.addi %at5, %c_in_chunk : index
    %at6 = arith.muli %chunk6, %c8 : index
    %col6 = arith.addi %at6, %c_in_chunk : index
    %at7 = arith.muli %chunk7, %c8 : index
    %col7 = arith.addi %at7, %c_in_chunk : index
    %h00 = arith.truncf %sum#0 : !Acc to !Half
    %h00u = vector.extract %h00[0] : vector<2xf16> from !Half
    %h00l = vector.extract %h00[1] : vector<2xf16> from !Half
    vector.store %h00u, %Cs[%half, %row0, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h00l, %Cs[%half, %row0_lower, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h01 = arith.truncf %sum#1 : !Acc to !Half
    %h01u = vector.extract %h01[0] : vector<2xf16> from !Half
    %h01l = vector.extract %h01[1] : vector<2xf16> from !Half
    vector.store %h01u, %Cs[%half, %row0, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h01l, %Cs[%half, %row0_lower, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h02 = arith.truncf %sum#2 : !Acc to !Half
    %h02u = vector.extract %h02[0] : vector<2xf16> from !Half
    %h02l = vector.extract %h02[1] : vector<2xf16> from !Half
    vector.store %h02u, %Cs[%half, %row0, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h02l, %Cs[%half, %row0_lower, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h03 = arith.truncf %sum#3 : !Acc to !Half
    %h03u = vector.extract %h03[0] : vector<2xf16> from !Half
    %h03l = vector.extract %h03[1] : vector<2xf16> from !Half
    vector.store %h03u, %Cs[%half, %row0, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h03l, %Cs[%half, %row0_lower, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h04 = arith.truncf %sum#4 : !Acc to !Half
    %h04u = vector.extract %h04[0] : vector<2xf16> from !Half
    %h04l = vector.extract %h04[1] : vector<2xf16> from !Half
    vector.store %h04u, %Cs[%half, %row0, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h04l, %Cs[%half, %row0_lower, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h05 = arith.truncf %sum#5 : !Acc to !Half
    %h05u = vector.extract %h05[0] : vector<2xf16> from !Half
    %h05l = vector.extract %h05[1] : vector<2xf16> from !Half
    vector.store %h05u, %Cs[%half, %row0, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h05l, %Cs[%half, %row0_lower, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h06 = arith.truncf %sum#6 : !Acc to !Half
    %h06u = vector.extract %h06[0] : vector<2xf16> from !Half
    %h06l = vector.extract %h06[1] : vector<2xf16> from !Half
    vector.store %h06u, %Cs[%half, %row0, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h06l, %Cs[%half, %row0_lower, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h07 = arith.truncf %sum#7 : !Acc to !Half
    %h07u = vector.extract %h07[0] : vector<2xf16> from !Half
    %h07l = vector.extract %h07[1] : vector<2xf16> from !Half
    vector.store %h07u, %Cs[%half, %row0, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h07l, %Cs[%half, %row0_lower, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h10 = arith.truncf %sum#8 : !Acc to !Half
    %h10u = vector.extract %h10[0] : vector<2xf16> from !Half
    %h10l = vector.extract %h10[1] : vector<2xf16> from !Half
    vector.store %h10u, %Cs[%half, %row1, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h10l, %Cs[%half, %row1_lower, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h11 = arith.truncf %sum#9 : !Acc to !Half
    %h11u = vector.extract %h11[0] : vector<2xf16> from !Half
    %h11l = vector.extract %h11[1] : vector<2xf16> from !Half
    vector.store %h11u, %Cs[%half, %row1, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h11l, %Cs[%half, %row1_lower, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h12 = arith.truncf %sum#10 : !Acc to !Half
    %h12u = vector.extract %h12[0] : vector<2xf16> from !Half
    %h12l = vector.extract %h12[1] : vector<2xf16> from !Half
    vector.store %h12u, %Cs[%half, %row1, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h12l, %Cs[%half, %row1_lower, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h13 = arith.truncf %sum#11 : !Acc to !Half
    %h13u = vector.extract %h13[0] : vector<2xf16> from !Half
    %h13l = vector.extract %h13[1] : vector<2xf16> from !Half
    vector.store %h13u, %Cs[%half, %row1, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h13l, %Cs[%half, %row1_lower, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h14 = arith.truncf %sum#12 : !Acc to !Half
    %h14u = vector.extract %h14[0] : vector<2xf16> from !Half
    %h14l = vector.extract %h14[1] : vector<2xf16> from !Half
    vector.store %h14u, %Cs[%half, %row1, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h14l, %Cs[%half, %row1_lower, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h15 = arith.truncf %sum#13 : !Acc to !Half
    %h15u = vector.extract %h15[0] : vector<2xf16> from !Half
    %h15l = vector.extract %h15[1] : vector<2xf16> from !Half
    vector.store %h15u, %Cs[%half, %row1, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h15l, %Cs[%half, %row1_lower, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h16 = arith.truncf %sum#14 : !Acc to !Half
    %h16u = vector.extract %h16[0] : vector<2xf16> from !Half
    %h16l = vector.extract %h16[1] : vector<2xf16> from !Half
    vector.store %h16u, %Cs[%half, %row1, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h16l, %Cs[%half, %row1_lower, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h17 = arith.truncf %sum#15 : !Acc to !Half
    %h17u = vector.extract %h17[0] : vector<2xf16> from !Half
    %h17l = vector.extract %h17[1] : vector<2xf16> from !Half
    vector.store %h17u, %Cs[%half, %row1, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h17l, %Cs[%half, %row1_lower, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h20 = arith.truncf %sum#16 : !Acc to !Half
    %h20u = vector.extract %h20[0] : vector<2xf16> from !Half
    %h20l = vector.extract %h20[1] : vector<2xf16> from !Half
    vector.store %h20u, %Cs[%half, %row2, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h20l, %Cs[%half, %row2_lower, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h21 = arith.truncf %sum#17 : !Acc to !Half
    %h21u = vector.extract %h21[0] : vector<2xf16> from !Half
    %h21l = vector.extract %h21[1] : vector<2xf16> from !Half
    vector.store %h21u, %Cs[%half, %row2, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h21l, %Cs[%half, %row2_lower, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h22 = arith.truncf %sum#18 : !Acc to !Half
    %h22u = vector.extract %h22[0] : vector<2xf16> from !Half
    %h22l = vector.extract %h22[1] : vector<2xf16> from !Half
    vector.store %h22u, %Cs[%half, %row2, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h22l, %Cs[%half, %row2_lower, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h23 = arith.truncf %sum#19 : !Acc to !Half
    %h23u = vector.extract %h23[0] : vector<2xf16> from !Half
    %h23l = vector.extract %h23[1] : vector<2xf16> from !Half
    vector.store %h23u, %Cs[%half, %row2, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h23l, %Cs[%half, %row2_lower, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h24 = arith.truncf %sum#20 : !Acc to !Half
    %h24u = vector.extract %h24[0] : vector<2xf16> from !Half
    %h24l = vector.extract %h24[1] : vector<2xf16> from !Half
    vector.store %h24u, %Cs[%half, %row2, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h24l, %Cs[%half, %row2_lower, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h25 = arith.truncf %sum#21 : !Acc to !Half
    %h25u = vector.extract %h25[0] : vector<2xf16> from !Half
    %h25l = vector.extract %h25[1] : vector<2xf16> from !Half
    vector.store %h25u, %Cs[%half, %row2, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h25l, %Cs[%half, %row2_lower, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h26 = arith.truncf %sum#22 : !Acc to !Half
    %h26u = vector.extract %h26[0] : vector<2xf16> from !Half
    %h26l = vector.extract %h26[1] : vector<2xf16> from !Half
    vector.store %h26u, %Cs[%half, %row2, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h26l, %Cs[%half, %row2_lower, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h27 = arith.truncf %sum#23 : !Acc to !Half
    %h27u = vector.extract %h27[0] : vector<2xf16> from !Half
    %h27l = vector.extract %h27[1] : vector<2xf16> from !Half
    vector.store %h27u, %Cs[%half, %row2, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h27l, %Cs[%half, %row2_lower, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h30 = arith.truncf %sum#24 : !Acc to !Half
    %h30u = vector.extract %h30[0] : vector<2xf16> from !Half
    %h30l = vector.extract %h30[1] : vector<2xf16> from !Half
    vector.store %h30u, %Cs[%half, %row3, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h30l, %Cs[%half, %row3_lower, %col0] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h31 = arith.truncf %sum#25 : !Acc to !Half
    %h31u = vector.extract %h31[0] : vector<2xf16> from !Half
    %h31l = vector.extract %h31[1] : vector<2xf16> from !Half
    vector.store %h31u, %Cs[%half, %row3, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h31l, %Cs[%half, %row3_lower, %col1] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h32 = arith.truncf %sum#26 : !Acc to !Half
    %h32u = vector.extract %h32[0] : vector<2xf16> from !Half
    %h32l = vector.extract %h32[1] : vector<2xf16> from !Half
    vector.store %h32u, %Cs[%half, %row3, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h32l, %Cs[%half, %row3_lower, %col2] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h33 = arith.truncf %sum#27 : !Acc to !Half
    %h33u = vector.extract %h33[0] : vector<2xf16> from !Half
    %h33l = vector.extract %h33[1] : vector<2xf16> from !Half
    vector.store %h33u, %Cs[%half, %row3, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h33l, %Cs[%half, %row3_lower, %col3] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h34 = arith.truncf %sum#28 : !Acc to !Half
    %h34u = vector.extract %h34[0] : vector<2xf16> from !Half
    %h34l = vector.extract %h34[1] : vector<2xf16> from !Half
    vector.store %h34u, %Cs[%half, %row3, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h34l, %Cs[%half, %row3_lower, %col4] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h35 = arith.truncf %sum#29 : !Acc to !Half
    %h35u = vector.extract %h35[0] : vector<2xf16> from !Half
    %h35l = vector.extract %h35[1] : vector<2xf16> from !Half
    vector.store %h35u, %Cs[%half, %row3, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h35l, %Cs[%half, %row3_lower, %col5] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h36 = arith.truncf %sum#30 : !Acc to !Half
    %h36u = vector.extract %h36[0] : vector<2xf16> from !Half
    %h36l = vector.extract %h36[1] : vector<2xf16> from !Half
    vector.store %h36u, %Cs[%half, %row3, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h36l, %Cs[%half, %row3_lower, %col6] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    %h37 = arith.truncf %sum#31 : !Acc to !Half
    %h37u = vector.extract %h37[0] : vector<2xf16> from !Half
    %h37l = vector.extract %h37[1] : vector<2xf16> from !Half
    vector.store %h37u, %Cs[%half, %row3, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>
    vector.store %h37l, %Cs[%half, %row3_lower, %col7] {alignment = 4 : i64} : !CSmem, vector<2xf16>

    %Cs_l = memref.subview %Cs[%c0, 0, 0] [1, 128, 64] [1, 1, 1] : !CSmem to !CHalf
    %Cs_r = memref.subview %Cs[%c1, 0, 0] [1, 128, 64] [1, 1, 1] : !CSmem to !CHalf
    %read_l, %done_l = gpux.tma_store async %Cs_l, %C[%m0, %n0] : !CHalf, !CTile
    %read_r, %done_r = gpux.tma_store async %Cs_r, %C[%m0, %n1] : !CHalf, !CTile
    async.await %read_l, %read_r
    gpu.return
  }
}
