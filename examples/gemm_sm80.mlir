// C = A * B on the tensor cores of sm_80: fp16 in, fp32 accumulation, fp16 out, all row-major. The loop is the one that is
// meant: copy a tile of A and of B, multiply. What overlaps with what is said by the stages and the orders of its operations.
//
//   async-opt gemm_sm80.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa pipeline=true" | async-translate --ptx
//   async-sim gemm_sm80.mlir --arg 0=128x128:random --arg 1=128x128:random --arg 2=128x128:zero
//
// Waits, in program order: 2 before the loop, 2 in each k-step, then 1 and 0 in the epilogue; 0 where K is less than 96 and
// nothing is pipelined. One block barrier a k-step. No slot, no wait and no epilogue is written here.
//
// Shape: a block of 128 threads (4 warps, 2x2, each 64x64) computes a 128x128 tile of C in k-steps of 32. From the orders
// follow four slots of A (128x32) and B (32x128) in shared memory; three tiles are in flight while one is computed. Inside a
// k-step the fragments of one half (k = 16) are loaded while the other half is multiplied; those of the next tile's first
// half are loaded before this tile's second half is multiplied, so that ldmatrix never stands between two mma.
//
// Launch: M and N multiples of 128, K a multiple of 32, rows aligned to 16 bytes; blockDim = 128,
// gridDim = (band, N/128, M/128/band) for any `band` that divides M/128; 65536 bytes of dynamic shared memory, which
// the host has to allow first (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).

!Mat = memref<?x?xf16>
!ATile = memref<128x32xf16, #gpu.address_space<workgroup>>
!BTile = memref<32x128xf16, #gpu.address_space<workgroup>>
!Frag = vector<4x2xf16>
!Half = vector<2x2xf16>
!Frags = vector<4x4x2xf16>
!Acc = vector<2x2xf32>
!Accs = vector<4x8x2x2xf32>

gpu.module @gemm {
  gpu.func @gemm_f16_sm80(%A: !Mat, %B: !Mat, %C: !Mat) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !Accs
    %none = arith.constant dense<0.0> : !Frags
    %ready = async.ready

    %As = memref.alloc() : !ATile
    %Bs = memref.alloc() : !BTile

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
    %a_place = arith.xori %a_chunk, %a_key : index
    %as_col = arith.muli %a_place, %c8 : index
    %a_col = arith.muli %a_chunk, %c8 : index

    // ... and of each B tile (32x128): rows tid/16 + {0, 8, 16, 24}, the 16-byte chunk tid%16.
    // Chunk c of row r lies at chunk c ^ (r % 8).
    %b_row = arith.divui %tid, %c16 : index
    %b_chunk = arith.remui %tid, %c16 : index
    %b_place = arith.xori %b_chunk, %b_row : index
    %bs_col = arith.muli %b_place, %c8 : index
    %b_chunk_col = arith.muli %b_chunk, %c8 : index
    %b_col = arith.addi %n0, %b_chunk_col : index

    // What this lane addresses for ldmatrix: row lane%16 of a 16x16 block, its left or right chunk (lane/16), unswizzled
    // by the same keys. Warp (warp%2, warp/2) owns rows 64*(warp%2).. and columns 64*(warp/2).. of the block's tile.
    %warp_m = arith.remui %warp, %c2 : index
    %warp_n = arith.divui %warp, %c2 : index
    %wm = arith.muli %warp_m, %c64 : index
    %wn = arith.muli %warp_n, %c64 : index
    %l_row = arith.remui %lane, %c16 : index
    %l_side = arith.divui %lane, %c16 : index
    %la_row = arith.addi %wm, %l_row : index
    %la_pair = arith.divui %l_row, %c2 : index
    %la_key = arith.andi %la_pair, %c3 : index
    %la_chunk0 = arith.xori %l_side, %la_key : index
    %la_chunk1 = arith.xori %la_chunk0, %c2 : index
    %la_col0 = arith.muli %la_chunk0, %c8 : index
    %la_col1 = arith.muli %la_chunk1, %c8 : index
    %lb_row1 = arith.addi %l_row, %c16 : index
    %lb_key = arith.andi %lane, %c7 : index
    %lb_chunk = arith.xori %l_side, %lb_key : index

    %sum = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (!Accs) {
      // A tile of each, which this thread has when it awaits them, and the block after the barrier.
      %copied = affine.for %i = 0 to 4 iter_args(%others = %ready) -> (!async.token) {
        %as_row = affine.apply affine_map<(i)[row] -> (row + 32 * i)>(%i)[%a_row]
        %from_row = arith.addi %m0, %as_row : index
        %from_col = arith.addi %k, %a_col : index
        %a = gpux.copy async %A[%from_row, %from_col], %As[%as_row, %as_col], 8 {bypass_l1, async.stage = 0, async.order = 0} : !Mat to !ATile
        %bs_row = affine.apply affine_map<(i)[row] -> (row + 8 * i)>(%i)[%b_row]
        %from = arith.addi %k, %bs_row : index
        %b = gpux.copy async %B[%from, %b_col], %Bs[%bs_row, %bs_col], 8 {bypass_l1, async.stage = 0, async.order = 0} : !Mat to !BTile
        %all = async.join %others, %a, %b
        affine.yield %all : !async.token
      }
      async.await %copied {async.stage = 2, async.order = 3}
      gpu.barrier

      // The first half: blocks of 16 rows of A, and of 16 columns of B, of which each is two of 8 for mma.
      %a0, %b0 = affine.for %i = 0 to 4 iter_args(%as = %none, %bs = %none) -> (!Frags, !Frags) {
        %row = affine.apply affine_map<(i)[row] -> (row + 16 * i)>(%i)[%la_row]
        %a = nvgpu.ldmatrix %As[%row, %la_col0] {numTiles = 4 : i32, transpose = false, async.stage = 2, async.order = 4} : !ATile -> !Frag
        %two_i = arith.muli %i, %c2 : index
        %chunk = arith.xori %lb_chunk, %two_i : index
        %col = affine.apply affine_map<(chunk)[first] -> (first + 8 * chunk)>(%chunk)[%wn]
        %b = nvgpu.ldmatrix %Bs[%l_row, %col] {numTiles = 4 : i32, transpose = true, async.stage = 2, async.order = 4} : !BTile -> !Frag
        %with_a = vector.insert %a, %as[%i] : !Frag into !Frags
        %with_b = vector.insert %b, %bs[%i] : !Frag into !Frags
        affine.yield %with_a, %with_b : !Frags, !Frags
      }
      %half = affine.for %i = 0 to 4 iter_args(%sums = %acc) -> (!Accs) {
        %a = vector.extract %a0[%i] : !Frag from !Frags
        %row = affine.for %j = 0 to 4 iter_args(%before = %sums) -> (!Accs) {
          %b = vector.extract %b0[%j] : !Frag from !Frags
          %l = vector.shuffle %b, %b [0, 1] : !Frag, !Frag
          %r = vector.shuffle %b, %b [2, 3] : !Frag, !Frag
          %left = affine.apply affine_map<(j) -> (2 * j)>(%j)
          %right = affine.apply affine_map<(j) -> (2 * j + 1)>(%j)
          %x = vector.extract %before[%i, %left] : !Acc from !Accs
          %p = nvgpu.mma.sync(%a, %l, %x) {mmaShape = [16, 8, 16], async.stage = 3, async.order = 2} : (!Frag, !Half, !Acc) -> !Acc
          %with_p = vector.insert %p, %before[%i, %left] : !Acc into !Accs
          %y = vector.extract %before[%i, %right] : !Acc from !Accs
          %q = nvgpu.mma.sync(%a, %r, %y) {mmaShape = [16, 8, 16], async.stage = 3, async.order = 2} : (!Frag, !Half, !Acc) -> !Acc
          %with_q = vector.insert %q, %with_p[%i, %right] : !Acc into !Accs
          affine.yield %with_q : !Accs
        }
        affine.yield %row : !Accs
      }

      // The second half.
      %a1, %b1 = affine.for %i = 0 to 4 iter_args(%as = %none, %bs = %none) -> (!Frags, !Frags) {
        %row = affine.apply affine_map<(i)[row] -> (row + 16 * i)>(%i)[%la_row]
        %a = nvgpu.ldmatrix %As[%row, %la_col1] {numTiles = 4 : i32, transpose = false, async.stage = 3, async.order = 1} : !ATile -> !Frag
        %two_i = arith.muli %i, %c2 : index
        %chunk = arith.xori %lb_chunk, %two_i : index
        %col = affine.apply affine_map<(chunk)[first] -> (first + 8 * chunk)>(%chunk)[%wn]
        %b = nvgpu.ldmatrix %Bs[%lb_row1, %col] {numTiles = 4 : i32, transpose = true, async.stage = 3, async.order = 1} : !BTile -> !Frag
        %with_a = vector.insert %a, %as[%i] : !Frag into !Frags
        %with_b = vector.insert %b, %bs[%i] : !Frag into !Frags
        affine.yield %with_a, %with_b : !Frags, !Frags
      }
      %whole = affine.for %i = 0 to 4 iter_args(%sums = %half) -> (!Accs) {
        %a = vector.extract %a1[%i] : !Frag from !Frags
        %row = affine.for %j = 0 to 4 iter_args(%before = %sums) -> (!Accs) {
          %b = vector.extract %b1[%j] : !Frag from !Frags
          %l = vector.shuffle %b, %b [0, 1] : !Frag, !Frag
          %r = vector.shuffle %b, %b [2, 3] : !Frag, !Frag
          %left = affine.apply affine_map<(j) -> (2 * j)>(%j)
          %right = affine.apply affine_map<(j) -> (2 * j + 1)>(%j)
          %x = vector.extract %before[%i, %left] : !Acc from !Accs
          %p = nvgpu.mma.sync(%a, %l, %x) {mmaShape = [16, 8, 16], async.stage = 3, async.order = 5} : (!Frag, !Half, !Acc) -> !Acc
          %with_p = vector.insert %p, %before[%i, %left] : !Acc into !Accs
          %y = vector.extract %before[%i, %right] : !Acc from !Accs
          %q = nvgpu.mma.sync(%a, %r, %y) {mmaShape = [16, 8, 16], async.stage = 3, async.order = 5} : (!Frag, !Half, !Acc) -> !Acc
          %with_q = vector.insert %q, %with_p[%i, %right] : !Acc into !Accs
          affine.yield %with_q : !Accs
        }
        affine.yield %row : !Accs
      }
      gpu.barrier
      scf.yield %whole : !Accs
    }

    // C in fp16. A lane holds columns 2*(lane%4) and the next one of rows lane/4 and lane/4 + 8 of each 16x8 block.
    %quad = arith.divui %lane, %c4 : index
    %pair = arith.remui %lane, %c4 : index
    %halves = arith.truncf %sum : !Accs to vector<4x8x2x2xf16>
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 8 {
        affine.for %lower = 0 to 2 {
          %two = vector.extract %halves[%i, %j, %lower] : vector<2xf16> from vector<4x8x2x2xf16>
          %row = affine.apply affine_map<(i, lower)[m0, wm, quad] -> (m0 + wm + 16 * i + 8 * lower + quad)>(%i, %lower)[%m0, %wm, %quad]
          %col = affine.apply affine_map<(j)[n0, wn, pair] -> (n0 + wn + 8 * j + 2 * pair)>(%j)[%n0, %wn, %pair]
          vector.store %two, %C[%row, %col] {alignment = 4 : i64} : !Mat, vector<2xf16>
        }
      }
    }
    gpu.return
  }
}
