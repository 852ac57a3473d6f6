// Attention on the tensor cores of sm_90: out = softmax(Q * K^T / 8) * V, for heads of 64 numbers: fp16 in, fp32 out. The scores
// and what they are multiplied with stay in registers.
//
//   async-opt attention_wgmma.mlir --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx
//   async-sim attention_wgmma.mlir --grid=2 --arg 0=128x64:random --arg 1=256x64:random --arg 2=256x64:random --arg 3=128x64:zero --arg 4=256
//
// Both multiplications of a step run at once, of neighboring tiles: the scores Q * K of tile j, then P * V of tile j-1. While the
// latter runs, the threads compute the softmax of tile j; then they scale the sum, and P becomes the left factor of the next
// step, which is read from registers. Waits: 1 for the scores, 0 for the sum. Tiles of K and V are loaded one step ahead, into
// two slots each. No count, mbarrier, phase or fence is written here.
//
// A thread has numbers of two rows of a matrix in registers, the dimension h of vector<1x8x2x2xf32>; four neighboring lanes have all
// of a row (gpux.read_fragment).
//
// Launch: one block of 128 threads for each 64 queries; the number of keys, the last argument, is a multiple of 64, and not 0.

!Map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                   interleave = none>
!Tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!Slots = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!Slot = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!Matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!MatrixOfSlot = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
!Acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!P = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!Numbers = vector<1x8x2x2xf32>
!Halves = vector<1x8x2x2xf16>
!Rows = vector<2xf32>

gpu.module @attention {
  // The largest number of each row, which four neighboring lanes have.
  func.func private @max_of_rows(%of_lane: !Rows) -> !Rows {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %width = arith.constant 32 : i32
    %upper, %lower = vector.to_elements %of_lane : !Rows
    %upper1, %v0 = gpu.shuffle xor %upper, %c1, %width : f32
    %lower1, %v1 = gpu.shuffle xor %lower, %c1, %width : f32
    %upper2 = arith.maxnumf %upper, %upper1 : f32
    %lower2 = arith.maxnumf %lower, %lower1 : f32
    %upper3, %v2 = gpu.shuffle xor %upper2, %c2, %width : f32
    %lower3, %v3 = gpu.shuffle xor %lower2, %c2, %width : f32
    %upper4 = arith.maxnumf %upper2, %upper3 : f32
    %lower4 = arith.maxnumf %lower2, %lower3 : f32
    %max = vector.from_elements %upper4, %lower4 : !Rows
    return %max : !Rows
  }

  // The sum of each row.
  func.func private @sum_of_rows(%of_lane: !Rows) -> !Rows {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %width = arith.constant 32 : i32
    %upper, %lower = vector.to_elements %of_lane : !Rows
    %upper1, %v0 = gpu.shuffle xor %upper, %c1, %width : f32
    %lower1, %v1 = gpu.shuffle xor %lower, %c1, %width : f32
    %upper2 = arith.addf %upper, %upper1 : f32
    %lower2 = arith.addf %lower, %lower1 : f32
    %upper3, %v2 = gpu.shuffle xor %upper2, %c2, %width : f32
    %lower3, %v3 = gpu.shuffle xor %lower2, %c2, %width : f32
    %upper4 = arith.addf %upper2, %upper3 : f32
    %lower4 = arith.addf %lower2, %lower3 : f32
    %sum = vector.from_elements %upper4, %lower4 : !Rows
    return %sum : !Rows
  }

  // exp(score - largest score so far), what the sums so far are to be multiplied by, and the new largest score and sums of each row.
  func.func private @softmax(%scores: !Numbers, %max: !Rows, %sum: !Rows) -> (!Numbers, !Rows, !Rows, !Rows) {
    // log2(e) / 8
    %scale = arith.constant dense<0.180336878> : !Numbers
    %scale_of_rows = arith.constant dense<0.180336878> : !Rows
    %of_lane = vector.multi_reduction <maxnumf>, %scores, %max [0, 1, 3] : !Numbers to !Rows
    %new_max = func.call @max_of_rows(%of_lane) : (!Rows) -> !Rows
    %column = vector.shape_cast %new_max : !Rows to vector<2x1xf32>
    %largest = vector.broadcast %column : vector<2x1xf32> to !Numbers
    %below = arith.subf %scores, %largest : !Numbers
    %exponents = arith.mulf %below, %scale : !Numbers
    %p = math.exp2 %exponents : !Numbers
    %before = arith.subf %max, %new_max : !Rows
    %exponent = arith.mulf %before, %scale_of_rows : !Rows
    %factor = math.exp2 %exponent : !Rows
    %scaled = arith.mulf %sum, %factor : !Rows
    %new_sum = vector.multi_reduction <add>, %p, %scaled [0, 1, 3] : !Numbers to !Rows
    return %p, %factor, %new_max, %new_sum : !Numbers, !Rows, !Rows, !Rows
  }

  gpu.func @attention(%Q: !Map, %K: !Map, %V: !Map, %out: memref<?x64xf32>, %keys: index)
      workgroup(%q: !Tile, %ks: !Slots, %vs: !Slots) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %none = arith.constant dense<0.0> : !Numbers
    %no_sum = arith.constant dense<0.0> : !Rows
    %least = arith.constant dense<0xFF800000> : !Rows
    %ones = arith.constant dense<1.0> : !Rows

    // The host has copied the tensor maps to where the kernel's pointers point.
    nvgpu.tma.fence.descriptor %Q : !Map
    nvgpu.tma.fence.descriptor %K : !Map
    nvgpu.tma.fence.descriptor %V : !Map

    %block = gpu.block_id x
    %first = arith.muli %block, %c64 : index
    %tiles = arith.divui %keys, %c64 : index

    // Prologue: the scores of tile 0, and tile 1 of K on its way.
    %k0 = memref.subview %ks[%c0, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
    %k1 = memref.subview %ks[%c1, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
    %v0 = memref.subview %vs[%c0, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
    %tq = gpux.tma_load async %Q[%first, %c0], %q : !Map, !Tile
    %tk0 = gpux.tma_load async %K[%c0, %c0], %k0 : !Map, !Slot
    %tk1 = gpux.tma_load async %K[%c64, %c0], %k1 : !Map, !Slot
    %tv0 = gpux.tma_load async %V[%c0, %c0], %v0 : !Map, !Slot
    %dq = nvgpu.warpgroup.generate.descriptor %q, %Q : !Tile, !Map -> !Matrix
    %dk0 = nvgpu.warpgroup.generate.descriptor %k0, %K : !Slot, !Map -> !MatrixOfSlot
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !Acc
    async.await %tq, %tk0
    %scores0, %t0 = gpux.wgmma async %dq, %dk0, %zero {transpose_b} : !Matrix, !MatrixOfSlot, !Acc
    async.await %t0
    %numbers0 = gpux.read_fragment %scores0 : !Acc to !Numbers
    %exps0, %f0, %max0, %sum0 = func.call @softmax(%numbers0, %least, %no_sum) : (!Numbers, !Rows, !Rows) -> (!Numbers, !Rows, !Rows, !Rows)
    %halves0 = arith.truncf %exps0 : !Numbers to !Halves
    %p0 = gpux.write_fragment %halves0 : !Halves to !P
    %o0 = gpux.write_fragment %none : !Numbers to !Acc

    %p, %o, %max, %sum, %tk, %tv = scf.for %j = %c1 to %tiles step %c1
        iter_args(%pb = %p0, %ob = %o0, %maxb = %max0, %sumb = %sum0, %tkb = %tk1, %tvb = %tv0)
        -> (!P, !Acc, !Rows, !Rows, !async.token, !async.token) {
      %slot = arith.andi %j, %c1 : index
      %other = arith.subi %c1, %slot : index
      %kj = memref.subview %ks[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
      %vj = memref.subview %vs[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
      %knext = memref.subview %ks[%other, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
      %vbefore = memref.subview %vs[%other, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot

      // Of a tile behind the last one, only zeros come, and nobody reads them.
      %row = arith.muli %j, %c64 : index
      %next = arith.addi %row, %c64 : index
      %tknext = gpux.tma_load async %K[%next, %c0], %knext : !Map, !Slot
      %tvj = gpux.tma_load async %V[%row, %c0], %vj : !Map, !Slot

      // Both at once: ptxas serializes multiplications if threads may part between them, as they do where they wait for a load.
      async.await %tkb, %tvb
      %dk = nvgpu.warpgroup.generate.descriptor %kj, %K : !Slot, !Map -> !MatrixOfSlot
      %scores, %ts = gpux.wgmma async %dq, %dk, %zero {transpose_b} : !Matrix, !MatrixOfSlot, !Acc
      %dv = nvgpu.warpgroup.generate.descriptor %vbefore, %V : !Slot, !Map -> !MatrixOfSlot
      %product, %to = gpux.wgmma async %pb, %dv, %ob : !P, !MatrixOfSlot, !Acc

      async.await %ts
      %numbers = gpux.read_fragment %scores : !Acc to !Numbers
      %exps, %factor, %maxj, %sumj = func.call @softmax(%numbers, %maxb, %sumb) : (!Numbers, !Rows, !Rows) -> (!Numbers, !Rows, !Rows, !Rows)

      async.await %to
      %before = gpux.read_fragment %product : !Acc to !Numbers
      %column = vector.shape_cast %factor : !Rows to vector<2x1xf32>
      %factors = vector.broadcast %column : vector<2x1xf32> to !Numbers
      %scaled = arith.mulf %before, %factors : !Numbers
      %oj = gpux.write_fragment %scaled : !Numbers to !Acc
      %halves = arith.truncf %exps : !Numbers to !Halves
      %pj = gpux.write_fragment %halves : !Halves to !P
      scf.yield %pj, %oj, %maxj, %sumj, %tknext, %tvj : !P, !Acc, !Rows, !Rows, !async.token, !async.token
    }

    // Epilogue: the last tile of V.
    %last = arith.subi %tiles, %c1 : index
    %slot = arith.andi %last, %c1 : index
    %vlast = memref.subview %vs[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : !Slots to !Slot
    async.await %tk, %tv
    %dv = nvgpu.warpgroup.generate.descriptor %vlast, %V : !Slot, !Map -> !MatrixOfSlot
    %product, %to = gpux.wgmma async %p, %dv, %o : !P, !MatrixOfSlot, !Acc
    %total = func.call @sum_of_rows(%sum) : (!Rows) -> !Rows
    %inverse = arith.divf %ones, %total : !Rows
    %column = vector.shape_cast %inverse : !Rows to vector<2x1xf32>
    %factors = vector.broadcast %column : vector<2x1xf32> to !Numbers
    async.await %to
    %numbers = gpux.read_fragment %product : !Acc to !Numbers
    %scaled = arith.mulf %numbers, %factors : !Numbers
    %result = gpux.write_fragment %scaled : !Numbers to !Acc
    %rows = memref.subview %out[%first, 0] [64, 64] [1, 1] : memref<?x64xf32> to memref<64x64xf32, strided<[64, 1], offset: ?>>
    nvgpu.warpgroup.mma.store %result, %rows : !Acc to memref<64x64xf32, strided<[64, 1], offset: ?>>
    gpu.return
  }
}
