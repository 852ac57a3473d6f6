// C = A * B on the tensor cores of sm_80: fp16 in, fp32 accumulation, fp16 out, all row-major.
//
//   async-opt gemm_sm80.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx
//
// Waits, in program order: 2 before the loop, 2 in each k-step, then 1 and 0 in the epilogue. No wait is written here:
// each step awaits the two tokens of the next tile, and how many groups may stay in flight meanwhile is counted.
//
// Shape: a block of 128 threads (4 warps, 2x2, each 64x64) computes a 128x128 tile of C in k-steps of 32. Four slots of
// A (128x32) and B (32x128) in shared memory; three tiles are in flight while one is computed. Inside a k-step the
// fragments of one half (k = 16) are loaded while the other half is multiplied; those of the next tile's first half are
// loaded before this tile's second half is multiplied, so that ldmatrix never stands between two mma.
//
// Launch: M and N multiples of 128, K a multiple of 32 and at least 96, rows aligned to 16 bytes; blockDim = 128,
// gridDim = (band, N/128, M/128/band) for any `band` that divides M/128; 65536 bytes of dynamic shared memory, which
// the host has to allow first (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).
//
// Unrolled by hand: fragment `ai` of A is its i-th 16x16 block, `bj` of B its j-th 16x16 block, of which `bjl` and `bjh`
// are the left and right 8 columns; accumulator `ij` is the 16x8 block in row i and column j of the warp's 64x64.

!Mat = memref<?x?xf16>
!ASmem = memref<4x128x32xf16, #gpu.address_space<workgroup>>
!BSmem = memref<4x32x128xf16, #gpu.address_space<workgroup>>
!Frag = vector<4x2xf16>
!Half = vector<2x2xf16>
!Acc = vector<2x2xf32>

gpu.module @gemm {
  gpu.func @gemm_f16_sm80(%A: !Mat, %B: !Mat, %C: !Mat) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %bs_offset = arith.constant 32768 : index
    %zero = arith.constant dense<0.0> : !Acc

    %smem = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %As = memref.view %smem[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to !ASmem
    %Bs = memref.view %smem[%bs_offset][] : memref<?xi8, #gpu.address_space<workgroup>> to !BSmem

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
    %K = memref.dim %A, %c1 : !Mat

    %tid = gpu.thread_id x
    %lane = arith.remui %tid, %c32 : index
    %warp = arith.divui %tid, %c32 : index

    // What this thread copies of each A tile (128x32): rows tid/4 + {0, 32, 64, 96}, the 16-byte chunk tid%4.
    // Chunk c of row r lies at chunk c ^ (r/2 % 4): any 8 rows of one chunk column are then in 8 different bank groups.
    %a_row = arith.divui %tid, %c4 : index
    %a_chunk = arith.remui %tid, %c4 : index
    %a_pair = arith.divui %tid, %c8 : index
    %a_key = arith.andi %a_pair, %c3 : index
    %a_slot = arith.xori %a_chunk, %a_key : index
    %as_col = arith.muli %a_slot, %c8 : index
    %copy_a_col = arith.muli %a_chunk, %c8 : index
    %as_row0 = arith.addi %a_row, %c0 : index
    %as_row1 = arith.addi %a_row, %c32 : index
    %as_row2 = arith.addi %a_row, %c64 : index
    %as_row3 = arith.addi %a_row, %c96 : index
    %a_row0 = arith.addi %m0, %as_row0 : index
    %a_row1 = arith.addi %m0, %as_row1 : index
    %a_row2 = arith.addi %m0, %as_row2 : index
    %a_row3 = arith.addi %m0, %as_row3 : index

    // ... and of each B tile (32x128): rows tid/16 + {0, 8, 16, 24}, the 16-byte chunk tid%16.
    // Chunk c of row r lies at chunk c ^ (r % 8).
    %b_row = arith.divui %tid, %c16 : index
    %b_chunk = arith.remui %tid, %c16 : index
    %b_slot = arith.xori %b_chunk, %b_row : index
    %bs_col = arith.muli %b_slot, %c8 : index
    %b_chunk_col = arith.muli %b_chunk, %c8 : index
    %b_col = arith.addi %n0, %b_chunk_col : index
    %bs_row0 = arith.addi %b_row, %c0 : index
    %bs_row1 = arith.addi %b_row, %c8 : index
    %bs_row2 = arith.addi %b_row, %c16 : index
    %bs_row3 = arith.addi %b_row, %c24 : index

    // What this lane addresses for ldmatrix: row lane%16 of a 16x16 block, its left or right chunk (lane/16), unswizzled
    // by the same keys. Warp (warp%2, warp/2) owns rows 64*(warp%2).. and columns 64*(warp/2).. of the block's tile.
    %warp_m = arith.remui %warp, %c2 : index
    %warp_n = arith.divui %warp, %c2 : index
    %wm = arith.muli %warp_m, %c64 : index
    %wn = arith.muli %warp_n, %c64 : index
    %l_row = arith.remui %lane, %c16 : index
    %l_side = arith.divui %lane, %c16 : index
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
    %lb_row0 = arith.addi %l_row, %c0 : index
    %lb_row1 = arith.addi %l_row, %c16 : index
    %lb_key = arith.andi %lane, %c7 : index
    %lb_chunk0 = arith.xori %l_side, %lb_key : index
    %lb_in_warp0 = arith.muli %lb_chunk0, %c8 : index
    %lb_col0 = arith.addi %wn, %lb_in_warp0 : index
    %lb_chunk1 = arith.xori %lb_chunk0, %c2 : index
    %lb_in_warp1 = arith.muli %lb_chunk1, %c8 : index
    %lb_col1 = arith.addi %wn, %lb_in_warp1 : index
    %lb_chunk2 = arith.xori %lb_chunk0, %c4 : index
    %lb_in_warp2 = arith.muli %lb_chunk2, %c8 : index
    %lb_col2 = arith.addi %wn, %lb_in_warp2 : index
    %lb_chunk3 = arith.xori %lb_chunk0, %c6 : index
    %lb_in_warp3 = arith.muli %lb_chunk3, %c8 : index
    %lb_col3 = arith.addi %wn, %lb_in_warp3 : index

    // Prologue: tile 0 ...
    %ka0 = arith.addi %c0, %copy_a_col : index
    %ta0_0 = gpux.copy async %A[%a_row0, %ka0], %As[%c0, %as_row0, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta0_1 = gpux.copy async %A[%a_row1, %ka0], %As[%c0, %as_row1, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta0_2 = gpux.copy async %A[%a_row2, %ka0], %As[%c0, %as_row2, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta0_3 = gpux.copy async %A[%a_row3, %ka0], %As[%c0, %as_row3, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta0 = async.join %ta0_0, %ta0_1, %ta0_2, %ta0_3
    %kb0_0 = arith.addi %c0, %bs_row0 : index
    %kb0_1 = arith.addi %c0, %bs_row1 : index
    %kb0_2 = arith.addi %c0, %bs_row2 : index
    %kb0_3 = arith.addi %c0, %bs_row3 : index
    %tb0_0 = gpux.copy async %B[%kb0_0, %b_col], %Bs[%c0, %bs_row0, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb0_1 = gpux.copy async %B[%kb0_1, %b_col], %Bs[%c0, %bs_row1, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb0_2 = gpux.copy async %B[%kb0_2, %b_col], %Bs[%c0, %bs_row2, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb0_3 = gpux.copy async %B[%kb0_3, %b_col], %Bs[%c0, %bs_row3, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb0 = async.join %tb0_0, %tb0_1, %tb0_2, %tb0_3

    // ... tile 1 ...
    %ka1 = arith.addi %c32, %copy_a_col : index
    %ta1_0 = gpux.copy async %A[%a_row0, %ka1], %As[%c1, %as_row0, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta1_1 = gpux.copy async %A[%a_row1, %ka1], %As[%c1, %as_row1, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta1_2 = gpux.copy async %A[%a_row2, %ka1], %As[%c1, %as_row2, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta1_3 = gpux.copy async %A[%a_row3, %ka1], %As[%c1, %as_row3, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta1 = async.join %ta1_0, %ta1_1, %ta1_2, %ta1_3
    %kb1_0 = arith.addi %c32, %bs_row0 : index
    %kb1_1 = arith.addi %c32, %bs_row1 : index
    %kb1_2 = arith.addi %c32, %bs_row2 : index
    %kb1_3 = arith.addi %c32, %bs_row3 : index
    %tb1_0 = gpux.copy async %B[%kb1_0, %b_col], %Bs[%c1, %bs_row0, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb1_1 = gpux.copy async %B[%kb1_1, %b_col], %Bs[%c1, %bs_row1, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb1_2 = gpux.copy async %B[%kb1_2, %b_col], %Bs[%c1, %bs_row2, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb1_3 = gpux.copy async %B[%kb1_3, %b_col], %Bs[%c1, %bs_row3, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb1 = async.join %tb1_0, %tb1_1, %tb1_2, %tb1_3

    // ... and tile 2 are on their way; tile 0 is awaited, and its first half goes into registers.
    %ka2 = arith.addi %c64, %copy_a_col : index
    %ta2_0 = gpux.copy async %A[%a_row0, %ka2], %As[%c2, %as_row0, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta2_1 = gpux.copy async %A[%a_row1, %ka2], %As[%c2, %as_row1, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta2_2 = gpux.copy async %A[%a_row2, %ka2], %As[%c2, %as_row2, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta2_3 = gpux.copy async %A[%a_row3, %ka2], %As[%c2, %as_row3, %as_col], 8 {bypass_l1} : !Mat to !ASmem
    %ta2 = async.join %ta2_0, %ta2_1, %ta2_2, %ta2_3
    %kb2_0 = arith.addi %c64, %bs_row0 : index
    %kb2_1 = arith.addi %c64, %bs_row1 : index
    %kb2_2 = arith.addi %c64, %bs_row2 : index
    %kb2_3 = arith.addi %c64, %bs_row3 : index
    %tb2_0 = gpux.copy async %B[%kb2_0, %b_col], %Bs[%c2, %bs_row0, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb2_1 = gpux.copy async %B[%kb2_1, %b_col], %Bs[%c2, %bs_row1, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb2_2 = gpux.copy async %B[%kb2_2, %b_col], %Bs[%c2, %bs_row2, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb2_3 = gpux.copy async %B[%kb2_3, %b_col], %Bs[%c2, %bs_row3, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
    %tb2 = async.join %tb2_0, %tb2_1, %tb2_2, %tb2_3
    async.await %ta0, %tb0
    gpu.barrier
    %ap0 = nvgpu.ldmatrix %As[%c0, %la_row0, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %ap1 = nvgpu.ldmatrix %As[%c0, %la_row1, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %ap2 = nvgpu.ldmatrix %As[%c0, %la_row2, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %ap3 = nvgpu.ldmatrix %As[%c0, %la_row3, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %bp0 = nvgpu.ldmatrix %Bs[%c0, %lb_row0, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %bp1 = nvgpu.ldmatrix %Bs[%c0, %lb_row0, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %bp2 = nvgpu.ldmatrix %Bs[%c0, %lb_row0, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %bp3 = nvgpu.ldmatrix %Bs[%c0, %lb_row0, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag

    // Main loop, one k-step per iteration. When iteration %k begins, tile %k is in shared memory, its first half in
    // registers, and tiles %k+1 and %k+2 are in flight.
    %k_tiles = arith.divui %K, %c32 : index
    %k_main = arith.subi %k_tiles, %c3 : index
    %token:4, %frag:8, %sum:32 = scf.for %k = %c0 to %k_main step %c1
        iter_args(%ta_k1 = %ta1, %tb_k1 = %tb1, %ta_k2 = %ta2, %tb_k2 = %tb2,
                  %a0 = %ap0, %a1 = %ap1, %a2 = %ap2, %a3 = %ap3,
                  %b0 = %bp0, %b1 = %bp1, %b2 = %bp2, %b3 = %bp3,
                  %acc00 = %zero, %acc01 = %zero, %acc02 = %zero, %acc03 = %zero, %acc04 = %zero, %acc05 = %zero, %acc06 = %zero, %acc07 = %zero,
                  %acc10 = %zero, %acc11 = %zero, %acc12 = %zero, %acc13 = %zero, %acc14 = %zero, %acc15 = %zero, %acc16 = %zero, %acc17 = %zero,
                  %acc20 = %zero, %acc21 = %zero, %acc22 = %zero, %acc23 = %zero, %acc24 = %zero, %acc25 = %zero, %acc26 = %zero, %acc27 = %zero,
                  %acc30 = %zero, %acc31 = %zero, %acc32 = %zero, %acc33 = %zero, %acc34 = %zero, %acc35 = %zero, %acc36 = %zero, %acc37 = %zero)
        -> (!async.token, !async.token, !async.token, !async.token, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc) {
      %slot = arith.andi %k, %c3 : index
      %k_next = arith.addi %k, %c1 : index
      %next_slot = arith.andi %k_next, %c3 : index
      %k_copy = arith.addi %k, %c3 : index
      %copy_slot = arith.andi %k_copy, %c3 : index
      %k0 = arith.muli %k_copy, %c32 : index

      // The second half of tile %k into registers.
      %x0 = nvgpu.ldmatrix %As[%slot, %la_row0, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %x1 = nvgpu.ldmatrix %As[%slot, %la_row1, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %x2 = nvgpu.ldmatrix %As[%slot, %la_row2, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %x3 = nvgpu.ldmatrix %As[%slot, %la_row3, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %y0 = nvgpu.ldmatrix %Bs[%slot, %lb_row1, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %y1 = nvgpu.ldmatrix %Bs[%slot, %lb_row1, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %y2 = nvgpu.ldmatrix %Bs[%slot, %lb_row1, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %y3 = nvgpu.ldmatrix %Bs[%slot, %lb_row1, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag

      // Tile %k+3 into the slot of tile %k-1, which every warp has read: its last reads came before the last barrier.
      %ka_k3 = arith.addi %k0, %copy_a_col : index
      %ta_k3_0 = gpux.copy async %A[%a_row0, %ka_k3], %As[%copy_slot, %as_row0, %as_col], 8 {bypass_l1} : !Mat to !ASmem
      %ta_k3_1 = gpux.copy async %A[%a_row1, %ka_k3], %As[%copy_slot, %as_row1, %as_col], 8 {bypass_l1} : !Mat to !ASmem
      %ta_k3_2 = gpux.copy async %A[%a_row2, %ka_k3], %As[%copy_slot, %as_row2, %as_col], 8 {bypass_l1} : !Mat to !ASmem
      %ta_k3_3 = gpux.copy async %A[%a_row3, %ka_k3], %As[%copy_slot, %as_row3, %as_col], 8 {bypass_l1} : !Mat to !ASmem
      %ta_k3 = async.join %ta_k3_0, %ta_k3_1, %ta_k3_2, %ta_k3_3
      %kb_k3_0 = arith.addi %k0, %bs_row0 : index
      %kb_k3_1 = arith.addi %k0, %bs_row1 : index
      %kb_k3_2 = arith.addi %k0, %bs_row2 : index
      %kb_k3_3 = arith.addi %k0, %bs_row3 : index
      %tb_k3_0 = gpux.copy async %B[%kb_k3_0, %b_col], %Bs[%copy_slot, %bs_row0, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
      %tb_k3_1 = gpux.copy async %B[%kb_k3_1, %b_col], %Bs[%copy_slot, %bs_row1, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
      %tb_k3_2 = gpux.copy async %B[%kb_k3_2, %b_col], %Bs[%copy_slot, %bs_row2, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
      %tb_k3_3 = gpux.copy async %B[%kb_k3_3, %b_col], %Bs[%copy_slot, %bs_row3, %bs_col], 8 {bypass_l1} : !Mat to !BSmem
      %tb_k3 = async.join %tb_k3_0, %tb_k3_1, %tb_k3_2, %tb_k3_3

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

      // Tile %k+1 has landed for this thread, after the barrier for the whole block. Its first half into registers.
      async.await %ta_k1, %tb_k1
      gpu.barrier
      %na0 = nvgpu.ldmatrix %As[%next_slot, %la_row0, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %na1 = nvgpu.ldmatrix %As[%next_slot, %la_row1, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %na2 = nvgpu.ldmatrix %As[%next_slot, %la_row2, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %na3 = nvgpu.ldmatrix %As[%next_slot, %la_row3, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
      %nb0 = nvgpu.ldmatrix %Bs[%next_slot, %lb_row0, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %nb1 = nvgpu.ldmatrix %Bs[%next_slot, %lb_row0, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %nb2 = nvgpu.ldmatrix %Bs[%next_slot, %lb_row0, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
      %nb3 = nvgpu.ldmatrix %Bs[%next_slot, %lb_row0, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag

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
      scf.yield %ta_k2, %tb_k2, %ta_k3, %tb_k3,
          %na0, %na1, %na2, %na3, %nb0, %nb1, %nb2, %nb3,
          %q00, %q01, %q02, %q03, %q04, %q05, %q06, %q07,
          %q10, %q11, %q12, %q13, %q14, %q15, %q16, %q17,
          %q20, %q21, %q22, %q23, %q24, %q25, %q26, %q27,
          %q30, %q31, %q32, %q33, %q34, %q35, %q36, %q37
          : !async.token, !async.token, !async.token, !async.token, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag, !Frag,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc,
            !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc, !Acc
    }

    // Epilogue: the last three tiles; nothing is copied any more, so the counts run out.
    %k_e1 = arith.addi %k_main, %c1 : index
    %k_e2 = arith.addi %k_main, %c2 : index
    %e0_slot = arith.andi %k_main, %c3 : index
    %e1_slot = arith.andi %k_e1, %c3 : index
    %e2_slot = arith.andi %k_e2, %c3 : index

    // The third last tile.
    %e0x0 = nvgpu.ldmatrix %As[%e0_slot, %la_row0, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e0x1 = nvgpu.ldmatrix %As[%e0_slot, %la_row1, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e0x2 = nvgpu.ldmatrix %As[%e0_slot, %la_row2, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e0x3 = nvgpu.ldmatrix %As[%e0_slot, %la_row3, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e0y0 = nvgpu.ldmatrix %Bs[%e0_slot, %lb_row1, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e0y1 = nvgpu.ldmatrix %Bs[%e0_slot, %lb_row1, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e0y2 = nvgpu.ldmatrix %Bs[%e0_slot, %lb_row1, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e0y3 = nvgpu.ldmatrix %Bs[%e0_slot, %lb_row1, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %rb0l = vector.shuffle %frag#4, %frag#4 [0, 1] : !Frag, !Frag
    %rb0h = vector.shuffle %frag#4, %frag#4 [2, 3] : !Frag, !Frag
    %rb1l = vector.shuffle %frag#5, %frag#5 [0, 1] : !Frag, !Frag
    %rb1h = vector.shuffle %frag#5, %frag#5 [2, 3] : !Frag, !Frag
    %rb2l = vector.shuffle %frag#6, %frag#6 [0, 1] : !Frag, !Frag
    %rb2h = vector.shuffle %frag#6, %frag#6 [2, 3] : !Frag, !Frag
    %rb3l = vector.shuffle %frag#7, %frag#7 [0, 1] : !Frag, !Frag
    %rb3h = vector.shuffle %frag#7, %frag#7 [2, 3] : !Frag, !Frag
    %e0p00 = nvgpu.mma.sync(%frag#0, %rb0l, %sum#0) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p01 = nvgpu.mma.sync(%frag#0, %rb0h, %sum#1) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p02 = nvgpu.mma.sync(%frag#0, %rb1l, %sum#2) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p03 = nvgpu.mma.sync(%frag#0, %rb1h, %sum#3) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p04 = nvgpu.mma.sync(%frag#0, %rb2l, %sum#4) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p05 = nvgpu.mma.sync(%frag#0, %rb2h, %sum#5) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p06 = nvgpu.mma.sync(%frag#0, %rb3l, %sum#6) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p07 = nvgpu.mma.sync(%frag#0, %rb3h, %sum#7) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p10 = nvgpu.mma.sync(%frag#1, %rb0l, %sum#8) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p11 = nvgpu.mma.sync(%frag#1, %rb0h, %sum#9) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p12 = nvgpu.mma.sync(%frag#1, %rb1l, %sum#10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p13 = nvgpu.mma.sync(%frag#1, %rb1h, %sum#11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p14 = nvgpu.mma.sync(%frag#1, %rb2l, %sum#12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p15 = nvgpu.mma.sync(%frag#1, %rb2h, %sum#13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p16 = nvgpu.mma.sync(%frag#1, %rb3l, %sum#14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p17 = nvgpu.mma.sync(%frag#1, %rb3h, %sum#15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p20 = nvgpu.mma.sync(%frag#2, %rb0l, %sum#16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p21 = nvgpu.mma.sync(%frag#2, %rb0h, %sum#17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p22 = nvgpu.mma.sync(%frag#2, %rb1l, %sum#18) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p23 = nvgpu.mma.sync(%frag#2, %rb1h, %sum#19) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p24 = nvgpu.mma.sync(%frag#2, %rb2l, %sum#20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p25 = nvgpu.mma.sync(%frag#2, %rb2h, %sum#21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p26 = nvgpu.mma.sync(%frag#2, %rb3l, %sum#22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p27 = nvgpu.mma.sync(%frag#2, %rb3h, %sum#23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p30 = nvgpu.mma.sync(%frag#3, %rb0l, %sum#24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p31 = nvgpu.mma.sync(%frag#3, %rb0h, %sum#25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p32 = nvgpu.mma.sync(%frag#3, %rb1l, %sum#26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p33 = nvgpu.mma.sync(%frag#3, %rb1h, %sum#27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p34 = nvgpu.mma.sync(%frag#3, %rb2l, %sum#28) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p35 = nvgpu.mma.sync(%frag#3, %rb2h, %sum#29) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p36 = nvgpu.mma.sync(%frag#3, %rb3l, %sum#30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0p37 = nvgpu.mma.sync(%frag#3, %rb3h, %sum#31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    async.await %token#0, %token#1
    gpu.barrier
    %e1a0 = nvgpu.ldmatrix %As[%e1_slot, %la_row0, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1a1 = nvgpu.ldmatrix %As[%e1_slot, %la_row1, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1a2 = nvgpu.ldmatrix %As[%e1_slot, %la_row2, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1a3 = nvgpu.ldmatrix %As[%e1_slot, %la_row3, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1b0 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row0, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1b1 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row0, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1b2 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row0, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1b3 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row0, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e0y0l = vector.shuffle %e0y0, %e0y0 [0, 1] : !Frag, !Frag
    %e0y0h = vector.shuffle %e0y0, %e0y0 [2, 3] : !Frag, !Frag
    %e0y1l = vector.shuffle %e0y1, %e0y1 [0, 1] : !Frag, !Frag
    %e0y1h = vector.shuffle %e0y1, %e0y1 [2, 3] : !Frag, !Frag
    %e0y2l = vector.shuffle %e0y2, %e0y2 [0, 1] : !Frag, !Frag
    %e0y2h = vector.shuffle %e0y2, %e0y2 [2, 3] : !Frag, !Frag
    %e0y3l = vector.shuffle %e0y3, %e0y3 [0, 1] : !Frag, !Frag
    %e0y3h = vector.shuffle %e0y3, %e0y3 [2, 3] : !Frag, !Frag
    %e0q00 = nvgpu.mma.sync(%e0x0, %e0y0l, %e0p00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q01 = nvgpu.mma.sync(%e0x0, %e0y0h, %e0p01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q02 = nvgpu.mma.sync(%e0x0, %e0y1l, %e0p02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q03 = nvgpu.mma.sync(%e0x0, %e0y1h, %e0p03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q04 = nvgpu.mma.sync(%e0x0, %e0y2l, %e0p04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q05 = nvgpu.mma.sync(%e0x0, %e0y2h, %e0p05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q06 = nvgpu.mma.sync(%e0x0, %e0y3l, %e0p06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q07 = nvgpu.mma.sync(%e0x0, %e0y3h, %e0p07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q10 = nvgpu.mma.sync(%e0x1, %e0y0l, %e0p10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q11 = nvgpu.mma.sync(%e0x1, %e0y0h, %e0p11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q12 = nvgpu.mma.sync(%e0x1, %e0y1l, %e0p12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q13 = nvgpu.mma.sync(%e0x1, %e0y1h, %e0p13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q14 = nvgpu.mma.sync(%e0x1, %e0y2l, %e0p14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q15 = nvgpu.mma.sync(%e0x1, %e0y2h, %e0p15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q16 = nvgpu.mma.sync(%e0x1, %e0y3l, %e0p16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q17 = nvgpu.mma.sync(%e0x1, %e0y3h, %e0p17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q20 = nvgpu.mma.sync(%e0x2, %e0y0l, %e0p20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q21 = nvgpu.mma.sync(%e0x2, %e0y0h, %e0p21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q22 = nvgpu.mma.sync(%e0x2, %e0y1l, %e0p22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q23 = nvgpu.mma.sync(%e0x2, %e0y1h, %e0p23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q24 = nvgpu.mma.sync(%e0x2, %e0y2l, %e0p24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q25 = nvgpu.mma.sync(%e0x2, %e0y2h, %e0p25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q26 = nvgpu.mma.sync(%e0x2, %e0y3l, %e0p26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q27 = nvgpu.mma.sync(%e0x2, %e0y3h, %e0p27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q30 = nvgpu.mma.sync(%e0x3, %e0y0l, %e0p30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q31 = nvgpu.mma.sync(%e0x3, %e0y0h, %e0p31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q32 = nvgpu.mma.sync(%e0x3, %e0y1l, %e0p32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q33 = nvgpu.mma.sync(%e0x3, %e0y1h, %e0p33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q34 = nvgpu.mma.sync(%e0x3, %e0y2l, %e0p34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q35 = nvgpu.mma.sync(%e0x3, %e0y2h, %e0p35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q36 = nvgpu.mma.sync(%e0x3, %e0y3l, %e0p36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e0q37 = nvgpu.mma.sync(%e0x3, %e0y3h, %e0p37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc

    // The second last.
    %e1x0 = nvgpu.ldmatrix %As[%e1_slot, %la_row0, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1x1 = nvgpu.ldmatrix %As[%e1_slot, %la_row1, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1x2 = nvgpu.ldmatrix %As[%e1_slot, %la_row2, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1x3 = nvgpu.ldmatrix %As[%e1_slot, %la_row3, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e1y0 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row1, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1y1 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row1, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1y2 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row1, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1y3 = nvgpu.ldmatrix %Bs[%e1_slot, %lb_row1, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1b0l = vector.shuffle %e1b0, %e1b0 [0, 1] : !Frag, !Frag
    %e1b0h = vector.shuffle %e1b0, %e1b0 [2, 3] : !Frag, !Frag
    %e1b1l = vector.shuffle %e1b1, %e1b1 [0, 1] : !Frag, !Frag
    %e1b1h = vector.shuffle %e1b1, %e1b1 [2, 3] : !Frag, !Frag
    %e1b2l = vector.shuffle %e1b2, %e1b2 [0, 1] : !Frag, !Frag
    %e1b2h = vector.shuffle %e1b2, %e1b2 [2, 3] : !Frag, !Frag
    %e1b3l = vector.shuffle %e1b3, %e1b3 [0, 1] : !Frag, !Frag
    %e1b3h = vector.shuffle %e1b3, %e1b3 [2, 3] : !Frag, !Frag
    %e1p00 = nvgpu.mma.sync(%e1a0, %e1b0l, %e0q00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p01 = nvgpu.mma.sync(%e1a0, %e1b0h, %e0q01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p02 = nvgpu.mma.sync(%e1a0, %e1b1l, %e0q02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p03 = nvgpu.mma.sync(%e1a0, %e1b1h, %e0q03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p04 = nvgpu.mma.sync(%e1a0, %e1b2l, %e0q04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p05 = nvgpu.mma.sync(%e1a0, %e1b2h, %e0q05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p06 = nvgpu.mma.sync(%e1a0, %e1b3l, %e0q06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p07 = nvgpu.mma.sync(%e1a0, %e1b3h, %e0q07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p10 = nvgpu.mma.sync(%e1a1, %e1b0l, %e0q10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p11 = nvgpu.mma.sync(%e1a1, %e1b0h, %e0q11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p12 = nvgpu.mma.sync(%e1a1, %e1b1l, %e0q12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p13 = nvgpu.mma.sync(%e1a1, %e1b1h, %e0q13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p14 = nvgpu.mma.sync(%e1a1, %e1b2l, %e0q14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p15 = nvgpu.mma.sync(%e1a1, %e1b2h, %e0q15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p16 = nvgpu.mma.sync(%e1a1, %e1b3l, %e0q16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p17 = nvgpu.mma.sync(%e1a1, %e1b3h, %e0q17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p20 = nvgpu.mma.sync(%e1a2, %e1b0l, %e0q20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p21 = nvgpu.mma.sync(%e1a2, %e1b0h, %e0q21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p22 = nvgpu.mma.sync(%e1a2, %e1b1l, %e0q22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p23 = nvgpu.mma.sync(%e1a2, %e1b1h, %e0q23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p24 = nvgpu.mma.sync(%e1a2, %e1b2l, %e0q24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p25 = nvgpu.mma.sync(%e1a2, %e1b2h, %e0q25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p26 = nvgpu.mma.sync(%e1a2, %e1b3l, %e0q26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p27 = nvgpu.mma.sync(%e1a2, %e1b3h, %e0q27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p30 = nvgpu.mma.sync(%e1a3, %e1b0l, %e0q30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p31 = nvgpu.mma.sync(%e1a3, %e1b0h, %e0q31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p32 = nvgpu.mma.sync(%e1a3, %e1b1l, %e0q32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p33 = nvgpu.mma.sync(%e1a3, %e1b1h, %e0q33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p34 = nvgpu.mma.sync(%e1a3, %e1b2l, %e0q34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p35 = nvgpu.mma.sync(%e1a3, %e1b2h, %e0q35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p36 = nvgpu.mma.sync(%e1a3, %e1b3l, %e0q36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1p37 = nvgpu.mma.sync(%e1a3, %e1b3h, %e0q37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    async.await %token#2, %token#3
    gpu.barrier
    %e2a0 = nvgpu.ldmatrix %As[%e2_slot, %la_row0, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2a1 = nvgpu.ldmatrix %As[%e2_slot, %la_row1, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2a2 = nvgpu.ldmatrix %As[%e2_slot, %la_row2, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2a3 = nvgpu.ldmatrix %As[%e2_slot, %la_row3, %la_col0] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2b0 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row0, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2b1 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row0, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2b2 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row0, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2b3 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row0, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e1y0l = vector.shuffle %e1y0, %e1y0 [0, 1] : !Frag, !Frag
    %e1y0h = vector.shuffle %e1y0, %e1y0 [2, 3] : !Frag, !Frag
    %e1y1l = vector.shuffle %e1y1, %e1y1 [0, 1] : !Frag, !Frag
    %e1y1h = vector.shuffle %e1y1, %e1y1 [2, 3] : !Frag, !Frag
    %e1y2l = vector.shuffle %e1y2, %e1y2 [0, 1] : !Frag, !Frag
    %e1y2h = vector.shuffle %e1y2, %e1y2 [2, 3] : !Frag, !Frag
    %e1y3l = vector.shuffle %e1y3, %e1y3 [0, 1] : !Frag, !Frag
    %e1y3h = vector.shuffle %e1y3, %e1y3 [2, 3] : !Frag, !Frag
    %e1q00 = nvgpu.mma.sync(%e1x0, %e1y0l, %e1p00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q01 = nvgpu.mma.sync(%e1x0, %e1y0h, %e1p01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q02 = nvgpu.mma.sync(%e1x0, %e1y1l, %e1p02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q03 = nvgpu.mma.sync(%e1x0, %e1y1h, %e1p03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q04 = nvgpu.mma.sync(%e1x0, %e1y2l, %e1p04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q05 = nvgpu.mma.sync(%e1x0, %e1y2h, %e1p05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q06 = nvgpu.mma.sync(%e1x0, %e1y3l, %e1p06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q07 = nvgpu.mma.sync(%e1x0, %e1y3h, %e1p07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q10 = nvgpu.mma.sync(%e1x1, %e1y0l, %e1p10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q11 = nvgpu.mma.sync(%e1x1, %e1y0h, %e1p11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q12 = nvgpu.mma.sync(%e1x1, %e1y1l, %e1p12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q13 = nvgpu.mma.sync(%e1x1, %e1y1h, %e1p13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q14 = nvgpu.mma.sync(%e1x1, %e1y2l, %e1p14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q15 = nvgpu.mma.sync(%e1x1, %e1y2h, %e1p15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q16 = nvgpu.mma.sync(%e1x1, %e1y3l, %e1p16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q17 = nvgpu.mma.sync(%e1x1, %e1y3h, %e1p17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q20 = nvgpu.mma.sync(%e1x2, %e1y0l, %e1p20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q21 = nvgpu.mma.sync(%e1x2, %e1y0h, %e1p21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q22 = nvgpu.mma.sync(%e1x2, %e1y1l, %e1p22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q23 = nvgpu.mma.sync(%e1x2, %e1y1h, %e1p23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q24 = nvgpu.mma.sync(%e1x2, %e1y2l, %e1p24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q25 = nvgpu.mma.sync(%e1x2, %e1y2h, %e1p25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q26 = nvgpu.mma.sync(%e1x2, %e1y3l, %e1p26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q27 = nvgpu.mma.sync(%e1x2, %e1y3h, %e1p27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q30 = nvgpu.mma.sync(%e1x3, %e1y0l, %e1p30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q31 = nvgpu.mma.sync(%e1x3, %e1y0h, %e1p31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q32 = nvgpu.mma.sync(%e1x3, %e1y1l, %e1p32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q33 = nvgpu.mma.sync(%e1x3, %e1y1h, %e1p33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q34 = nvgpu.mma.sync(%e1x3, %e1y2l, %e1p34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q35 = nvgpu.mma.sync(%e1x3, %e1y2h, %e1p35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q36 = nvgpu.mma.sync(%e1x3, %e1y3l, %e1p36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e1q37 = nvgpu.mma.sync(%e1x3, %e1y3h, %e1p37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc

    // The last.
    %e2x0 = nvgpu.ldmatrix %As[%e2_slot, %la_row0, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2x1 = nvgpu.ldmatrix %As[%e2_slot, %la_row1, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2x2 = nvgpu.ldmatrix %As[%e2_slot, %la_row2, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2x3 = nvgpu.ldmatrix %As[%e2_slot, %la_row3, %la_col1] {numTiles = 4 : i32, transpose = false} : !ASmem -> !Frag
    %e2y0 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row1, %lb_col0] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2y1 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row1, %lb_col1] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2y2 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row1, %lb_col2] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2y3 = nvgpu.ldmatrix %Bs[%e2_slot, %lb_row1, %lb_col3] {numTiles = 4 : i32, transpose = true} : !BSmem -> !Frag
    %e2b0l = vector.shuffle %e2b0, %e2b0 [0, 1] : !Frag, !Frag
    %e2b0h = vector.shuffle %e2b0, %e2b0 [2, 3] : !Frag, !Frag
    %e2b1l = vector.shuffle %e2b1, %e2b1 [0, 1] : !Frag, !Frag
    %e2b1h = vector.shuffle %e2b1, %e2b1 [2, 3] : !Frag, !Frag
    %e2b2l = vector.shuffle %e2b2, %e2b2 [0, 1] : !Frag, !Frag
    %e2b2h = vector.shuffle %e2b2, %e2b2 [2, 3] : !Frag, !Frag
    %e2b3l = vector.shuffle %e2b3, %e2b3 [0, 1] : !Frag, !Frag
    %e2b3h = vector.shuffle %e2b3, %e2b3 [2, 3] : !Frag, !Frag
    %e2p00 = nvgpu.mma.sync(%e2a0, %e2b0l, %e1q00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p01 = nvgpu.mma.sync(%e2a0, %e2b0h, %e1q01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p02 = nvgpu.mma.sync(%e2a0, %e2b1l, %e1q02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p03 = nvgpu.mma.sync(%e2a0, %e2b1h, %e1q03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p04 = nvgpu.mma.sync(%e2a0, %e2b2l, %e1q04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p05 = nvgpu.mma.sync(%e2a0, %e2b2h, %e1q05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p06 = nvgpu.mma.sync(%e2a0, %e2b3l, %e1q06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p07 = nvgpu.mma.sync(%e2a0, %e2b3h, %e1q07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p10 = nvgpu.mma.sync(%e2a1, %e2b0l, %e1q10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p11 = nvgpu.mma.sync(%e2a1, %e2b0h, %e1q11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p12 = nvgpu.mma.sync(%e2a1, %e2b1l, %e1q12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p13 = nvgpu.mma.sync(%e2a1, %e2b1h, %e1q13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p14 = nvgpu.mma.sync(%e2a1, %e2b2l, %e1q14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p15 = nvgpu.mma.sync(%e2a1, %e2b2h, %e1q15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p16 = nvgpu.mma.sync(%e2a1, %e2b3l, %e1q16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p17 = nvgpu.mma.sync(%e2a1, %e2b3h, %e1q17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p20 = nvgpu.mma.sync(%e2a2, %e2b0l, %e1q20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p21 = nvgpu.mma.sync(%e2a2, %e2b0h, %e1q21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p22 = nvgpu.mma.sync(%e2a2, %e2b1l, %e1q22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p23 = nvgpu.mma.sync(%e2a2, %e2b1h, %e1q23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p24 = nvgpu.mma.sync(%e2a2, %e2b2l, %e1q24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p25 = nvgpu.mma.sync(%e2a2, %e2b2h, %e1q25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p26 = nvgpu.mma.sync(%e2a2, %e2b3l, %e1q26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p27 = nvgpu.mma.sync(%e2a2, %e2b3h, %e1q27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p30 = nvgpu.mma.sync(%e2a3, %e2b0l, %e1q30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p31 = nvgpu.mma.sync(%e2a3, %e2b0h, %e1q31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p32 = nvgpu.mma.sync(%e2a3, %e2b1l, %e1q32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p33 = nvgpu.mma.sync(%e2a3, %e2b1h, %e1q33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p34 = nvgpu.mma.sync(%e2a3, %e2b2l, %e1q34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p35 = nvgpu.mma.sync(%e2a3, %e2b2h, %e1q35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p36 = nvgpu.mma.sync(%e2a3, %e2b3l, %e1q36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2p37 = nvgpu.mma.sync(%e2a3, %e2b3h, %e1q37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2y0l = vector.shuffle %e2y0, %e2y0 [0, 1] : !Frag, !Frag
    %e2y0h = vector.shuffle %e2y0, %e2y0 [2, 3] : !Frag, !Frag
    %e2y1l = vector.shuffle %e2y1, %e2y1 [0, 1] : !Frag, !Frag
    %e2y1h = vector.shuffle %e2y1, %e2y1 [2, 3] : !Frag, !Frag
    %e2y2l = vector.shuffle %e2y2, %e2y2 [0, 1] : !Frag, !Frag
    %e2y2h = vector.shuffle %e2y2, %e2y2 [2, 3] : !Frag, !Frag
    %e2y3l = vector.shuffle %e2y3, %e2y3 [0, 1] : !Frag, !Frag
    %e2y3h = vector.shuffle %e2y3, %e2y3 [2, 3] : !Frag, !Frag
    %e2q00 = nvgpu.mma.sync(%e2x0, %e2y0l, %e2p00) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q01 = nvgpu.mma.sync(%e2x0, %e2y0h, %e2p01) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q02 = nvgpu.mma.sync(%e2x0, %e2y1l, %e2p02) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q03 = nvgpu.mma.sync(%e2x0, %e2y1h, %e2p03) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q04 = nvgpu.mma.sync(%e2x0, %e2y2l, %e2p04) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q05 = nvgpu.mma.sync(%e2x0, %e2y2h, %e2p05) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q06 = nvgpu.mma.sync(%e2x0, %e2y3l, %e2p06) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q07 = nvgpu.mma.sync(%e2x0, %e2y3h, %e2p07) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q10 = nvgpu.mma.sync(%e2x1, %e2y0l, %e2p10) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q11 = nvgpu.mma.sync(%e2x1, %e2y0h, %e2p11) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q12 = nvgpu.mma.sync(%e2x1, %e2y1l, %e2p12) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q13 = nvgpu.mma.sync(%e2x1, %e2y1h, %e2p13) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q14 = nvgpu.mma.sync(%e2x1, %e2y2l, %e2p14) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q15 = nvgpu.mma.sync(%e2x1, %e2y2h, %e2p15) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q16 = nvgpu.mma.sync(%e2x1, %e2y3l, %e2p16) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q17 = nvgpu.mma.sync(%e2x1, %e2y3h, %e2p17) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q20 = nvgpu.mma.sync(%e2x2, %e2y0l, %e2p20) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q21 = nvgpu.mma.sync(%e2x2, %e2y0h, %e2p21) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q22 = nvgpu.mma.sync(%e2x2, %e2y1l, %e2p22) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q23 = nvgpu.mma.sync(%e2x2, %e2y1h, %e2p23) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q24 = nvgpu.mma.sync(%e2x2, %e2y2l, %e2p24) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q25 = nvgpu.mma.sync(%e2x2, %e2y2h, %e2p25) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q26 = nvgpu.mma.sync(%e2x2, %e2y3l, %e2p26) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q27 = nvgpu.mma.sync(%e2x2, %e2y3h, %e2p27) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q30 = nvgpu.mma.sync(%e2x3, %e2y0l, %e2p30) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q31 = nvgpu.mma.sync(%e2x3, %e2y0h, %e2p31) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q32 = nvgpu.mma.sync(%e2x3, %e2y1l, %e2p32) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q33 = nvgpu.mma.sync(%e2x3, %e2y1h, %e2p33) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q34 = nvgpu.mma.sync(%e2x3, %e2y2l, %e2p34) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q35 = nvgpu.mma.sync(%e2x3, %e2y2h, %e2p35) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q36 = nvgpu.mma.sync(%e2x3, %e2y3l, %e2p36) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc
    %e2q37 = nvgpu.mma.sync(%e2x3, %e2y3h, %e2p37) {mmaShape = [16, 8, 16]} : (!Frag, !Half, !Acc) -> !Acc

    // C in fp16. A lane holds columns 2*(lane%4) and the next one of rows lane/4 and lane/4 + 8 of each 16x8 block.
    %store_row = arith.divui %lane, %c4 : index
    %store_quad = arith.remui %lane, %c4 : index
    %store_pair = arith.muli %store_quad, %c2 : index
    %store_m = arith.addi %m0, %wm : index
    %store_n = arith.addi %n0, %wn : index
    %row0 = arith.addi %store_m, %store_row : index
    %row1 = arith.addi %row0, %c16 : index
    %row2 = arith.addi %row0, %c32 : index
    %row3 = arith.addi %row0, %c48 : index
    %row0_lower = arith.addi %row0, %c8 : index
    %row1_lower = arith.addi %row1, %c8 : index
    %row2_lower = arith.addi %row2, %c8 : index
    %row3_lower = arith.addi %row3, %c8 : index
    %col0 = arith.addi %store_n, %store_pair : index
    %col1 = arith.addi %col0, %c8 : index
    %col2 = arith.addi %col1, %c8 : index
    %col3 = arith.addi %col2, %c8 : index
    %col4 = arith.addi %col3, %c8 : index
    %col5 = arith.addi %col4, %c8 : index
    %col6 = arith.addi %col5, %c8 : index
    %col7 = arith.addi %col6, %c8 : index
    %h00 = arith.truncf %e2q00 : !Acc to vector<2x2xf16>
    %h00u = vector.extract %h00[0] : vector<2xf16> from vector<2x2xf16>
    %h00l = vector.extract %h00[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h00u, %C[%row0, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h00l, %C[%row0_lower, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h01 = arith.truncf %e2q01 : !Acc to vector<2x2xf16>
    %h01u = vector.extract %h01[0] : vector<2xf16> from vector<2x2xf16>
    %h01l = vector.extract %h01[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h01u, %C[%row0, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h01l, %C[%row0_lower, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h02 = arith.truncf %e2q02 : !Acc to vector<2x2xf16>
    %h02u = vector.extract %h02[0] : vector<2xf16> from vector<2x2xf16>
    %h02l = vector.extract %h02[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h02u, %C[%row0, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h02l, %C[%row0_lower, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h03 = arith.truncf %e2q03 : !Acc to vector<2x2xf16>
    %h03u = vector.extract %h03[0] : vector<2xf16> from vector<2x2xf16>
    %h03l = vector.extract %h03[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h03u, %C[%row0, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h03l, %C[%row0_lower, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h04 = arith.truncf %e2q04 : !Acc to vector<2x2xf16>
    %h04u = vector.extract %h04[0] : vector<2xf16> from vector<2x2xf16>
    %h04l = vector.extract %h04[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h04u, %C[%row0, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h04l, %C[%row0_lower, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h05 = arith.truncf %e2q05 : !Acc to vector<2x2xf16>
    %h05u = vector.extract %h05[0] : vector<2xf16> from vector<2x2xf16>
    %h05l = vector.extract %h05[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h05u, %C[%row0, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h05l, %C[%row0_lower, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h06 = arith.truncf %e2q06 : !Acc to vector<2x2xf16>
    %h06u = vector.extract %h06[0] : vector<2xf16> from vector<2x2xf16>
    %h06l = vector.extract %h06[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h06u, %C[%row0, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h06l, %C[%row0_lower, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h07 = arith.truncf %e2q07 : !Acc to vector<2x2xf16>
    %h07u = vector.extract %h07[0] : vector<2xf16> from vector<2x2xf16>
    %h07l = vector.extract %h07[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h07u, %C[%row0, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h07l, %C[%row0_lower, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h10 = arith.truncf %e2q10 : !Acc to vector<2x2xf16>
    %h10u = vector.extract %h10[0] : vector<2xf16> from vector<2x2xf16>
    %h10l = vector.extract %h10[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h10u, %C[%row1, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h10l, %C[%row1_lower, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h11 = arith.truncf %e2q11 : !Acc to vector<2x2xf16>
    %h11u = vector.extract %h11[0] : vector<2xf16> from vector<2x2xf16>
    %h11l = vector.extract %h11[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h11u, %C[%row1, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h11l, %C[%row1_lower, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h12 = arith.truncf %e2q12 : !Acc to vector<2x2xf16>
    %h12u = vector.extract %h12[0] : vector<2xf16> from vector<2x2xf16>
    %h12l = vector.extract %h12[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h12u, %C[%row1, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h12l, %C[%row1_lower, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h13 = arith.truncf %e2q13 : !Acc to vector<2x2xf16>
    %h13u = vector.extract %h13[0] : vector<2xf16> from vector<2x2xf16>
    %h13l = vector.extract %h13[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h13u, %C[%row1, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h13l, %C[%row1_lower, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h14 = arith.truncf %e2q14 : !Acc to vector<2x2xf16>
    %h14u = vector.extract %h14[0] : vector<2xf16> from vector<2x2xf16>
    %h14l = vector.extract %h14[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h14u, %C[%row1, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h14l, %C[%row1_lower, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h15 = arith.truncf %e2q15 : !Acc to vector<2x2xf16>
    %h15u = vector.extract %h15[0] : vector<2xf16> from vector<2x2xf16>
    %h15l = vector.extract %h15[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h15u, %C[%row1, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h15l, %C[%row1_lower, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h16 = arith.truncf %e2q16 : !Acc to vector<2x2xf16>
    %h16u = vector.extract %h16[0] : vector<2xf16> from vector<2x2xf16>
    %h16l = vector.extract %h16[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h16u, %C[%row1, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h16l, %C[%row1_lower, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h17 = arith.truncf %e2q17 : !Acc to vector<2x2xf16>
    %h17u = vector.extract %h17[0] : vector<2xf16> from vector<2x2xf16>
    %h17l = vector.extract %h17[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h17u, %C[%row1, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h17l, %C[%row1_lower, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h20 = arith.truncf %e2q20 : !Acc to vector<2x2xf16>
    %h20u = vector.extract %h20[0] : vector<2xf16> from vector<2x2xf16>
    %h20l = vector.extract %h20[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h20u, %C[%row2, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h20l, %C[%row2_lower, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h21 = arith.truncf %e2q21 : !Acc to vector<2x2xf16>
    %h21u = vector.extract %h21[0] : vector<2xf16> from vector<2x2xf16>
    %h21l = vector.extract %h21[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h21u, %C[%row2, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h21l, %C[%row2_lower, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h22 = arith.truncf %e2q22 : !Acc to vector<2x2xf16>
    %h22u = vector.extract %h22[0] : vector<2xf16> from vector<2x2xf16>
    %h22l = vector.extract %h22[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h22u, %C[%row2, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h22l, %C[%row2_lower, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h23 = arith.truncf %e2q23 : !Acc to vector<2x2xf16>
    %h23u = vector.extract %h23[0] : vector<2xf16> from vector<2x2xf16>
    %h23l = vector.extract %h23[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h23u, %C[%row2, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h23l, %C[%row2_lower, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h24 = arith.truncf %e2q24 : !Acc to vector<2x2xf16>
    %h24u = vector.extract %h24[0] : vector<2xf16> from vector<2x2xf16>
    %h24l = vector.extract %h24[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h24u, %C[%row2, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h24l, %C[%row2_lower, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h25 = arith.truncf %e2q25 : !Acc to vector<2x2xf16>
    %h25u = vector.extract %h25[0] : vector<2xf16> from vector<2x2xf16>
    %h25l = vector.extract %h25[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h25u, %C[%row2, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h25l, %C[%row2_lower, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h26 = arith.truncf %e2q26 : !Acc to vector<2x2xf16>
    %h26u = vector.extract %h26[0] : vector<2xf16> from vector<2x2xf16>
    %h26l = vector.extract %h26[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h26u, %C[%row2, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h26l, %C[%row2_lower, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h27 = arith.truncf %e2q27 : !Acc to vector<2x2xf16>
    %h27u = vector.extract %h27[0] : vector<2xf16> from vector<2x2xf16>
    %h27l = vector.extract %h27[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h27u, %C[%row2, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h27l, %C[%row2_lower, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h30 = arith.truncf %e2q30 : !Acc to vector<2x2xf16>
    %h30u = vector.extract %h30[0] : vector<2xf16> from vector<2x2xf16>
    %h30l = vector.extract %h30[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h30u, %C[%row3, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h30l, %C[%row3_lower, %col0] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h31 = arith.truncf %e2q31 : !Acc to vector<2x2xf16>
    %h31u = vector.extract %h31[0] : vector<2xf16> from vector<2x2xf16>
    %h31l = vector.extract %h31[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h31u, %C[%row3, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h31l, %C[%row3_lower, %col1] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h32 = arith.truncf %e2q32 : !Acc to vector<2x2xf16>
    %h32u = vector.extract %h32[0] : vector<2xf16> from vector<2x2xf16>
    %h32l = vector.extract %h32[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h32u, %C[%row3, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h32l, %C[%row3_lower, %col2] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h33 = arith.truncf %e2q33 : !Acc to vector<2x2xf16>
    %h33u = vector.extract %h33[0] : vector<2xf16> from vector<2x2xf16>
    %h33l = vector.extract %h33[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h33u, %C[%row3, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h33l, %C[%row3_lower, %col3] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h34 = arith.truncf %e2q34 : !Acc to vector<2x2xf16>
    %h34u = vector.extract %h34[0] : vector<2xf16> from vector<2x2xf16>
    %h34l = vector.extract %h34[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h34u, %C[%row3, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h34l, %C[%row3_lower, %col4] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h35 = arith.truncf %e2q35 : !Acc to vector<2x2xf16>
    %h35u = vector.extract %h35[0] : vector<2xf16> from vector<2x2xf16>
    %h35l = vector.extract %h35[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h35u, %C[%row3, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h35l, %C[%row3_lower, %col5] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h36 = arith.truncf %e2q36 : !Acc to vector<2x2xf16>
    %h36u = vector.extract %h36[0] : vector<2xf16> from vector<2x2xf16>
    %h36l = vector.extract %h36[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h36u, %C[%row3, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h36l, %C[%row3_lower, %col6] {alignment = 4 : i64} : !Mat, vector<2xf16>
    %h37 = arith.truncf %e2q37 : !Acc to vector<2x2xf16>
    %h37u = vector.extract %h37[0] : vector<2xf16> from vector<2x2xf16>
    %h37l = vector.extract %h37[1] : vector<2xf16> from vector<2x2xf16>
    vector.store %h37u, %C[%row3, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    vector.store %h37l, %C[%row3_lower, %col7] {alignment = 4 : i64} : !Mat, vector<2xf16>
    gpu.return
  }
}
