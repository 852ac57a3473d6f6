// A double-buffered copy: dst = alpha * src, tile by tile through shared memory, while one tile is scaled the next one
// is on its way.
//
//   async-opt double_buffered_copy.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx
//   async-sim double_buffered_copy.mlir --grid=2 --arg 0=2048:random --arg 1=2048:zero --arg 2=0.5
//
// Waits: 1 in the loop (the copy of the next tile stays in flight), 0 after it.
//
// Launch: blocks of 128 threads, as many as you like, at most one per tile. A tile is 512 floats; the size of src and
// dst is a multiple of it. Block b takes tiles b, b + gridDim.x, b + 2*gridDim.x, ...: the trip count is dynamic, and 0
// where a block has a single tile.

!Vector = memref<?xf32>
!Slots = memref<2x512xf32, #gpu.address_space<workgroup>>

gpu.module @double_buffered_copy {
  gpu.func @scale(%src: !Vector, %dst: !Vector, %alpha: f32) workgroup(%slots: !Slots) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c384 = arith.constant 384 : index
    %c512 = arith.constant 512 : index

    %block = gpu.block_id x
    %blocks = gpu.grid_dim x
    %size = memref.dim %src, %c0 : !Vector
    %tiles = arith.divui %size, %c512 : index
    %tiles_after = arith.subi %tiles, %block : index
    %n = arith.ceildivui %tiles_after, %blocks : index
    %last = arith.subi %n, %c1 : index
    %first = arith.muli %block, %c512 : index
    %step = arith.muli %blocks, %c512 : index

    // A thread copies 16 bytes, elements 4t to 4t+3 of a tile, and scales elements t, t+128, t+256, t+384, which other
    // threads have copied: hence the barriers.
    %t0 = gpu.thread_id x
    %t1 = arith.addi %t0, %c128 : index
    %t2 = arith.addi %t0, %c256 : index
    %t3 = arith.addi %t0, %c384 : index
    %chunk = arith.muli %t0, %c4 : index

    %from = arith.addi %first, %chunk : index
    %prologue = gpux.copy async %src[%from], %slots[%c0, %chunk], 4 {bypass_l1} : !Vector to !Slots

    %last_copy = scf.for %i = %c0 to %last step %c1 iter_args(%current = %prologue) -> (!async.token) {
      %slot = arith.andi %i, %c1 : index
      %other = arith.xori %slot, %c1 : index
      %offset = arith.muli %i, %step : index
      %tile = arith.addi %first, %offset : index
      %next_tile = arith.addi %tile, %step : index
      %next_from = arith.addi %next_tile, %chunk : index
      %next = gpux.copy async %src[%next_from], %slots[%other, %chunk], 4 {bypass_l1} : !Vector to !Slots

      async.await %current
      gpu.barrier
      %x0 = memref.load %slots[%slot, %t0] : !Slots
      %x1 = memref.load %slots[%slot, %t1] : !Slots
      %x2 = memref.load %slots[%slot, %t2] : !Slots
      %x3 = memref.load %slots[%slot, %t3] : !Slots
      %y0 = arith.mulf %alpha, %x0 : f32
      %y1 = arith.mulf %alpha, %x1 : f32
      %y2 = arith.mulf %alpha, %x2 : f32
      %y3 = arith.mulf %alpha, %x3 : f32
      %to0 = arith.addi %tile, %t0 : index
      %to1 = arith.addi %tile, %t1 : index
      %to2 = arith.addi %tile, %t2 : index
      %to3 = arith.addi %tile, %t3 : index
      memref.store %y0, %dst[%to0] : !Vector
      memref.store %y1, %dst[%to1] : !Vector
      memref.store %y2, %dst[%to2] : !Vector
      memref.store %y3, %dst[%to3] : !Vector
      // Every thread has read this slot before the next iteration copies into it.
      gpu.barrier
      scf.yield %next : !async.token
    }

    async.await %last_copy
    gpu.barrier
    %slot = arith.andi %last, %c1 : index
    %offset = arith.muli %last, %step : index
    %tile = arith.addi %first, %offset : index
    %x0 = memref.load %slots[%slot, %t0] : !Slots
    %x1 = memref.load %slots[%slot, %t1] : !Slots
    %x2 = memref.load %slots[%slot, %t2] : !Slots
    %x3 = memref.load %slots[%slot, %t3] : !Slots
    %y0 = arith.mulf %alpha, %x0 : f32
    %y1 = arith.mulf %alpha, %x1 : f32
    %y2 = arith.mulf %alpha, %x2 : f32
    %y3 = arith.mulf %alpha, %x3 : f32
    %to0 = arith.addi %tile, %t0 : index
    %to1 = arith.addi %tile, %t1 : index
    %to2 = arith.addi %tile, %t2 : index
    %to3 = arith.addi %tile, %t3 : index
    memref.store %y0, %dst[%to0] : !Vector
    memref.store %y1, %dst[%to1] : !Vector
    memref.store %y2, %dst[%to2] : !Vector
    memref.store %y3, %dst[%to3] : !Vector
    gpu.return
  }
}
