// C = A * B on the tensor cores, with tiles that the tensor memory accelerator (TMA) of sm_90 moves: fp16 in, fp32
// accumulation, fp16 out, all row-major. The loop is the one that is meant: load a tile of A and of B, multiply. What overlaps
// with what is said by the stages and the orders of its operations.
//
//   async-opt gemm_sm90.mlir --gpux-lower-to-nvvm="chip=sm_90a format=isa pipeline=true" | async-translate --ptx
//   async-sim gemm_sm90.mlir --arg 0=128x128:random --arg 1=128x128:random --arg 2=128x128:zero --arg 3=128
//
// The schedule of gemm_sm80.mlir, with three loads in the place of its 1024 copies. The loads of one k-step are awaited together,
// so that they share a phase of 16384 bytes; its mbarrier, its parity and the barrier before a slot is filled again are derived,
// not written.
//
// Shape: a block of 128 threads (4 warps, 2x2, each 64x64) computes a 128x128 tile of C in k-steps of 32. From the orders follow
// four slots of A (128x32) and B (two halves of 32x64) in shared memory; three tiles are in flight while one is computed. Inside a
// k-step the fragments of one half (k = 16) are loaded while the other half is multiplied. The TMA swizzles what it
// writes, so that the 8 rows of an ldmatrix lie in 8 different bank groups; the addresses below undo that by an XOR.
//
// Launch: any M, any N and K that are multiples of 8 (rows of 16 bytes): what lies outside is loaded as zeros, and not
// stored. blockDim = 128, gridDim = (band, N/128, M/128/band), rounded up, for any `band`; 65536 bytes of dynamic shared
// memory, which the host has to allow first (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).

!ATile = !nvgpu.tensormap.descriptor<tensor = memref<128x32xf16, 3>, swizzle = swizzle_64b, l2promo = l2promo_128b,
                                     oob = zero, interleave = none>
!BTile = !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b,
                                     oob = zero, interleave = none>
!CTile = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none,
                                     oob = zero, interleave = none>
!ASmem = memref<128x32xf16, #gpu.address_space<workgroup>>
!BSmem = memref<2x32x64xf16, #gpu.address_space<workgroup>>
!CSmem = memref<2x128x64xf16, #gpu.address_space<workgroup>>
!BLeft = memref<32x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
!BRight = memref<32x64xf16, strided<[64, 1], offset: 2048>, #gpu.address_space<workgroup>>
!CLeft = memref<128x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
!CRight = memref<128x64xf16, strided<[64, 1], offset: 8192>, #gpu.address_space<workgroup>>
!Frag = vector<4x2xf16>
!Half = vector<2x2xf16>
!Frags = vector<4x4x2xf16>
!Acc = vector<2x2xf32>
!Accs = vector<4x8x2x2xf32>

gpu.module @gemm {
  gpu.func @gemm_f16_sm90(%A: !ATile, %B: !BTile, %C: !CTile, %K: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
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

    // The host has copied the tensor maps to where the kernel's pointers point: each block fences them before the first use.
    nvgpu.tma.fence.descriptor %A : !ATile
    nvgpu.tma.fence.descriptor %B : !BTile
    nvgpu.tma.fence.descriptor %C : !CTile

    %As = memref.alloc() : !ASmem
    %Bs = memref.alloc() : !BSmem
    %Bl = memref.subview %Bs[0, 0, 0] [1, 32, 64] [1, 1, 1] : !BSmem to !BLeft
    %Br = memref.subview %Bs[1, 0, 0] [1, 32, 64] [1, 1, 1] : !BSmem to !BRight

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
    %la_row = arith.addi %wm, %l_row : index
    %la_pair = arith.divui %l_row, %c2 : index
    %la_key = arith.andi %la_pair, %c3 : index
    %la_chunk0 = arith.xori %l_side, %la_key : index
    %la_chunk1 = arith.xori %la_chunk0, %c2 : index
    %la_col0 = arith.muli %la_chunk0, %c8 : index
    %la_col1 = arith.muli %la_chunk1, %c8 : index

    // Rows of B have 128 bytes: chunk c of row r lies at chunk c ^ (r % 8).
    %lb_row1 = arith.addi %l_row, %c16 : index
    %lb_key = arith.andi %lane, %c7 : index
    %lb_chunk = arith.xori %l_side, %lb_key : index

    %sum = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (!Accs) {
      %ta = gpux.tma_load async %A[%m0, %k], %As {async.stage = 0, async.order = 0} : !ATile, !ASmem
      %tl = gpux.tma_load async %B[%k, %n0], %Bl {async.stage = 0, async.order = 0} : !BTile, !BLeft
      %tr = gpux.tma_load async %B[%k, %n1], %Br {async.stage = 0, async.order = 0} : !BTile, !BRight
      async.await %ta, %tl, %tr {async.stage = 2, async.order = 3}

      // The first half: blocks of 16 rows of A, and of 16 columns of B, of which each is two of 8 for mma.
      %a0, %b0 = affine.for %i = 0 to 4 iter_args(%as = %none, %bs = %none) -> (!Frags, !Frags) {
        %row = affine.apply affine_map<(i)[row] -> (row + 16 * i)>(%i)[%la_row]
        %a = nvgpu.ldmatrix %As[%row, %la_col0] {numTiles = 4 : i32, transpose = false, async.stage = 2, async.order = 4} : !ASmem -> !Frag
        %two_i = arith.muli %i, %c2 : index
        %chunk = arith.xori %lb_chunk, %two_i : index
        %col = arith.muli %chunk, %c8 : index
        %b = nvgpu.ldmatrix %Bs[%half, %l_row, %col] {numTiles = 4 : i32, transpose = true, async.stage = 2, async.order = 4} : !BSmem -> !Frag
        %with_a = vector.insert %a, %as[%i] : !Frag into !Frags
        %with_b = vector.insert %b, %bs[%i] : !Frag into !Frags
        affine.yield %with_a, %with_b : !Frags, !Frags
      }
      %first = affine.for %i = 0 to 4 iter_args(%sums = %acc) -> (!Accs) {
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
        %a = nvgpu.ldmatrix %As[%row, %la_col1] {numTiles = 4 : i32, transpose = false, async.stage = 3, async.order = 1} : !ASmem -> !Frag
        %two_i = arith.muli %i, %c2 : index
        %chunk = arith.xori %lb_chunk, %two_i : index
        %col = arith.muli %chunk, %c8 : index
        %b = nvgpu.ldmatrix %Bs[%half, %lb_row1, %col] {numTiles = 4 : i32, transpose = true, async.stage = 3, async.order = 1} : !BSmem -> !Frag
        %with_a = vector.insert %a, %as[%i] : !Frag into !Frags
        %with_b = vector.insert %b, %bs[%i] : !Frag into !Frags
        affine.yield %with_a, %with_b : !Frags, !Frags
      }
      %whole = affine.for %i = 0 to 4 iter_args(%sums = %first) -> (!Accs) {
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
      scf.yield %whole : !Accs
    }

    // C in fp16. A lane holds columns 2*(lane%4) and the next one of rows lane/4 and lane/4 + 8 of each 16x8 block. Rows have 128
    // bytes, two for each row of C, and are swizzled like those of B: the 8 rows of a store lie in 8 bank groups. The memory is
    // that of tiles that all warps have read.
    %Cs = memref.alloc() : !CSmem
    %quad = arith.divui %lane, %c4 : index
    %pair = arith.remui %lane, %c4 : index
    %halves = arith.truncf %sum : !Accs to vector<4x8x2x2xf16>
    affine.for %i = 0 to 4 {
      affine.for %j = 0 to 8 {
        affine.for %lower = 0 to 2 {
          %two = vector.extract %halves[%i, %j, %lower] : vector<2xf16> from vector<4x8x2x2xf16>
          %row = affine.apply affine_map<(i, lower)[wm, quad] -> (wm + 16 * i + 8 * lower + quad)>(%i, %lower)[%wm, %quad]
          %chunk = arith.xori %quad, %j : index
          %col = affine.apply affine_map<(chunk)[pair] -> (8 * chunk + 2 * pair)>(%chunk)[%pair]
          vector.store %two, %Cs[%half, %row, %col] {alignment = 4 : i64} : !CSmem, vector<2xf16>
        }
      }
    }
    %Cl = memref.subview %Cs[0, 0, 0] [1, 128, 64] [1, 1, 1] : !CSmem to !CLeft
    %Cr = memref.subview %Cs[1, 0, 0] [1, 128, 64] [1, 1, 1] : !CSmem to !CRight
    %read_l, %done_l = gpux.tma_store async %Cl, %C[%m0, %n0] : !CLeft, !CTile
    %read_r, %done_r = gpux.tma_store async %Cr, %C[%m0, %n1] : !CRight, !CTile
    async.await %read_l, %read_r
    gpu.return
  }
}
