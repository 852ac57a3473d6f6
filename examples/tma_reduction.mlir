// A ring of tiles that the tensor memory accelerator (TMA) fills: y = x, and the sums of x's columns on the way.
//
//   async-opt tma_reduction.mlir --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx
//   async-sim tma_reduction.mlir --grid=3,2 --arg 0=100x132:random --arg 1=100x132:zero --arg 2=2x132:zero
//
// Four slots of shared memory, three tiles on their way while one is read. Nothing of what that takes on the hardware is
// written here: no mbarrier, no phase, no thread that issues for the others, no barrier between the readers of a slot and
// the load that fills it again. A load is the business of the whole block, and what awaits its token may read the tile.
//
// Launch: blocks of 128 threads, gridDim = (N/64 rounded up, bands) for any number of bands. Block (x, y) takes the 64
// columns from 64x on, in tiles of 32 rows: tiles y, y + bands, y + 2*bands, ...; `sums`, of bands by N, gets one row of
// sums from each band. Any size of x whose rows are multiples of 16 bytes will do: what lies outside is loaded as zeros,
// and not stored.

!Tile = !nvgpu.tensormap.descriptor<tensor = memref<32x64xf32, 3>, swizzle = none, l2promo = none, oob = zero,
                                    interleave = none>
!Matrix = memref<?x?xf32>
!Slots = memref<4x32x64xf32, #gpu.address_space<workgroup>>
!Slot = memref<32x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!Partial = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @tma_reduction {
  gpu.func @copy_and_sum(%x: !Tile, %y: !Matrix, %sums: !Matrix) workgroup(%slots: !Slots, %partial: !Partial) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32

    // The host has copied the tensor map to where the kernel's pointer points: each block fences it before the first use.
    nvgpu.tma.fence.descriptor %x : !Tile

    %rows = memref.dim %y, %c0 : !Matrix
    %columns = memref.dim %y, %c1 : !Matrix
    %block = gpu.block_id x
    %band = gpu.block_id y
    %bands = gpu.grid_dim y
    %left = arith.muli %block, %c64 : index
    %tiles = arith.ceildivui %rows, %c32 : index
    %tiles_after = arith.subi %tiles, %band : index
    %n = arith.ceildivsi %tiles_after, %bands : index
    %top = arith.muli %band, %c32 : index
    %step = arith.muli %bands, %c32 : index

    // Thread t has column t % 64 of each tile, and every other row of it: the lanes of a warp read side by side.
    %t = gpu.thread_id x
    %in_tile = arith.remui %t, %c64 : index
    %first_row = arith.divui %t, %c64 : index
    %column = arith.addi %left, %in_tile : index
    %column_is_inside = arith.cmpi ult, %column, %columns : index

    // Prologue: tiles 0 to 2 on their way. Of one that lies below x, only zeros come, and no memory is read.
    %slot0 = memref.subview %slots[%c0, 0, 0] [1, 32, 64] [1, 1, 1] : !Slots to !Slot
    %slot1 = memref.subview %slots[%c1, 0, 0] [1, 32, 64] [1, 1, 1] : !Slots to !Slot
    %slot2 = memref.subview %slots[%c2, 0, 0] [1, 32, 64] [1, 1, 1] : !Slots to !Slot
    %top1 = arith.addi %top, %step : index
    %top2 = arith.addi %top1, %step : index
    %top3 = arith.addi %top2, %step : index
    %load0 = gpux.tma_load async %x[%top, %left], %slot0 : !Tile, !Slot
    %load1 = gpux.tma_load async %x[%top1, %left], %slot1 : !Tile, !Slot
    %load2 = gpux.tma_load async %x[%top2, %left], %slot2 : !Tile, !Slot

    %sum, %rest:3 = scf.for %i = %c0 to %n step %c1
        iter_args(%sum = %zero, %current = %load0, %second = %load1, %third = %load2)
        -> (f32, !async.token, !async.token, !async.token) {
      async.await %current

      // Tile i+3 goes into the slot of tile i-1.
      %ahead = arith.addi %i, %c3 : index
      %free = arith.remui %ahead, %c4 : index
      %slot_ahead = memref.subview %slots[%free, 0, 0] [1, 32, 64] [1, 1, 1] : !Slots to !Slot
      %down = arith.muli %i, %step : index
      %row = arith.addi %top, %down : index
      %row_ahead = arith.addi %top3, %down : index
      %load = gpux.tma_load async %x[%row_ahead, %left], %slot_ahead : !Tile, !Slot

      %slot = arith.remui %i, %c4 : index
      %tile_sum = scf.for %r = %first_row to %c32 step %c2 iter_args(%so_far = %sum) -> f32 {
        %v = memref.load %slots[%slot, %r, %in_tile] : !Slots
        %more = arith.addf %so_far, %v : f32
        %to = arith.addi %row, %r : index
        %row_is_inside = arith.cmpi ult, %to, %rows : index
        %is_inside = arith.andi %row_is_inside, %column_is_inside : i1
        scf.if %is_inside {
          memref.store %v, %y[%to, %column] : !Matrix
        }
        scf.yield %more : f32
      }
      scf.yield %tile_sum, %second, %third, %load : f32, !async.token, !async.token, !async.token
    }
    // Three loads of tiles that nobody reads are left.
    async.await %rest#0, %rest#1, %rest#2

    // The two threads of a column meet in shared memory, as in any other kernel.
    memref.store %sum, %partial[%first_row, %in_tile] : !Partial
    gpu.barrier
    %is_first = arith.cmpi eq, %first_row, %c0 : index
    %writes = arith.andi %is_first, %column_is_inside : i1
    scf.if %writes {
      %even = memref.load %partial[%c0, %in_tile] : !Partial
      %odd = memref.load %partial[%c1, %in_tile] : !Partial
      %whole = arith.addf %even, %odd : f32
      memref.store %whole, %sums[%band, %column] : !Matrix
    }
    gpu.return
  }
}
