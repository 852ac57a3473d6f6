// Three ways into one loop, and a fourth out of it: out = a * b + c, where the tensor memory accelerator (TMA) loads a,
// each thread copies its share of b (cp.async) and loads its elements of c as ever, and the TMA stores the result.
//
//   async-opt mixed_pointwise.mlir --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx
//   async-sim mixed_pointwise.mlir --grid=2,2 --arg 0=100x100:random --arg 1=100x100:random --arg 2=100x100:random --arg 3=100x100:zero
//
// Waits: two mbarriers for a, `cp.async.wait_group 1` for b, `cp.async.bulk.wait_group.read 1` before a buffer of the
// result is written again. Three slots each of a and b, of which two are on their way while one is used; two buffers of
// the result take turns, by their tokens, which are complete once the buffer has been read.
//
// A gpux.copy is its thread's own, so that the kernel has to say where all threads meet: one gpu.barrier after the await
// makes b's copies visible to all of them. It is also what keeps loads and copies off a slot that is still being read, and
// the passes see that: they add no other one for it.
//
// Launch: blocks of 128 threads, gridDim = (N/64 rounded up, bands) for any number of bands. Block (x, y) takes the 64
// columns from 64x on, in tiles of 16 rows: tiles y, y + bands, y + 2*bands, ... Any size will do whose rows are multiples
// of 16 bytes: what lies outside is loaded as zeros, and not stored.

!Tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero,
                                    interleave = none>
!Matrix = memref<?x?xf32>
!Slots = memref<3x16x64xf32, #gpu.address_space<workgroup>>
!Results = memref<2x16x64xf32, #gpu.address_space<workgroup>>
!Slot = memref<16x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>

gpu.module @mixed_pointwise {
  gpu.func @multiply_add(%a: !Tile, %b: !Matrix, %c: !Matrix, %out: !Tile)
      workgroup(%a_slots: !Slots, %b_slots: !Slots, %results: !Results) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32

    // The host has copied the tensor maps to where the kernel's pointers point: each block fences them before the first use.
    nvgpu.tma.fence.descriptor %a : !Tile
    nvgpu.tma.fence.descriptor %out : !Tile

    %rows = memref.dim %c, %c0 : !Matrix
    %columns = memref.dim %c, %c1 : !Matrix
    %block = gpu.block_id x
    %band = gpu.block_id y
    %bands = gpu.grid_dim y
    %left = arith.muli %block, %c64 : index
    %tiles = arith.ceildivui %rows, %c16 : index
    %tiles_after = arith.subi %tiles, %band : index
    %n = arith.ceildivsi %tiles_after, %bands : index
    %top = arith.muli %band, %c16 : index
    %step = arith.muli %bands, %c16 : index

    // Thread t copies 16 bytes of rows t/16 and t/16 + 8 of b's tile, and computes column t % 64 of every other row.
    %t = gpu.thread_id x
    %copy_row0 = arith.divui %t, %c16 : index
    %copy_row1 = arith.addi %copy_row0, %c8 : index
    %chunk = arith.remui %t, %c16 : index
    %copy_column = arith.muli %chunk, %c4 : index
    %from_column = arith.addi %left, %copy_column : index
    %copies_inside = arith.cmpi ult, %from_column, %columns : index
    %in_tile = arith.remui %t, %c64 : index
    %first_row = arith.divui %t, %c64 : index
    %column = arith.addi %left, %in_tile : index
    %column_is_inside = arith.cmpi ult, %column, %columns : index
    %elements = arith.select %copies_inside, %c4, %c0 : index

    // Prologue: tiles 0 and 1 on their way. A copy reads 4 elements, or none where they lie outside, and writes 4.
    %slot0 = memref.subview %a_slots[%c0, 0, 0] [1, 16, 64] [1, 1, 1] : !Slots to !Slot
    %slot1 = memref.subview %a_slots[%c1, 0, 0] [1, 16, 64] [1, 1, 1] : !Slots to !Slot
    %top1 = arith.addi %top, %step : index
    %top2 = arith.addi %top1, %step : index
    %load0 = gpux.tma_load async %a[%top, %left], %slot0 : !Tile, !Slot
    %from0_0 = arith.addi %top, %copy_row0 : index
    %from0_1 = arith.addi %top, %copy_row1 : index
    %inside0_0 = arith.cmpi ult, %from0_0, %rows : index
    %inside0_1 = arith.cmpi ult, %from0_1, %rows : index
    %read0_0 = arith.select %inside0_0, %elements, %c0 : index
    %read0_1 = arith.select %inside0_1, %elements, %c0 : index
    %copy0_0 = gpux.copy async %b[%from0_0, %from_column], %b_slots[%c0, %copy_row0, %copy_column], 4, %read0_0 : !Matrix to !Slots
    %copy0_1 = gpux.copy async %b[%from0_1, %from_column], %b_slots[%c0, %copy_row1, %copy_column], 4, %read0_1 : !Matrix to !Slots
    %copy0 = async.join %copy0_0, %copy0_1
    %load1 = gpux.tma_load async %a[%top1, %left], %slot1 : !Tile, !Slot
    %from1_0 = arith.addi %top1, %copy_row0 : index
    %from1_1 = arith.addi %top1, %copy_row1 : index
    %inside1_0 = arith.cmpi ult, %from1_0, %rows : index
    %inside1_1 = arith.cmpi ult, %from1_1, %rows : index
    %read1_0 = arith.select %inside1_0, %elements, %c0 : index
    %read1_1 = arith.select %inside1_1, %elements, %c0 : index
    %copy1_0 = gpux.copy async %b[%from1_0, %from_column], %b_slots[%c1, %copy_row0, %copy_column], 4, %read1_0 : !Matrix to !Slots
    %copy1_1 = gpux.copy async %b[%from1_1, %from_column], %b_slots[%c1, %copy_row1, %copy_column], 4, %read1_1 : !Matrix to !Slots
    %copy1 = async.join %copy1_0, %copy1_1
    %never_stored = async.ready

    %rest:6 = scf.for %i = %c0 to %n step %c1
        iter_args(%a_now = %load0, %a_next = %load1, %b_now = %copy0, %b_next = %copy1,
                  %stored = %never_stored, %stored_last = %never_stored)
        -> (!async.token, !async.token, !async.token, !async.token, !async.token, !async.token) {
      // Tile i has landed, and the buffer of the result of tile i-2 has been read; after the barrier for all threads.
      async.await %a_now, %b_now, %stored
      gpu.barrier

      // Tile i+2 goes into the slots of tile i-1.
      %ahead = arith.addi %i, %c2 : index
      %free = arith.remui %ahead, %c3 : index
      %down = arith.muli %i, %step : index
      %row_ahead = arith.addi %top2, %down : index
      %slot_ahead = memref.subview %a_slots[%free, 0, 0] [1, 16, 64] [1, 1, 1] : !Slots to !Slot
      %load = gpux.tma_load async %a[%row_ahead, %left], %slot_ahead : !Tile, !Slot
      %from_0 = arith.addi %row_ahead, %copy_row0 : index
      %from_1 = arith.addi %row_ahead, %copy_row1 : index
      %inside_0 = arith.cmpi ult, %from_0, %rows : index
      %inside_1 = arith.cmpi ult, %from_1, %rows : index
      %read_0 = arith.select %inside_0, %elements, %c0 : index
      %read_1 = arith.select %inside_1, %elements, %c0 : index
      %copy_0 = gpux.copy async %b[%from_0, %from_column], %b_slots[%free, %copy_row0, %copy_column], 4, %read_0 : !Matrix to !Slots
      %copy_1 = gpux.copy async %b[%from_1, %from_column], %b_slots[%free, %copy_row1, %copy_column], 4, %read_1 : !Matrix to !Slots
      %copy = async.join %copy_0, %copy_1

      // This tile.
      %row = arith.addi %top, %down : index
      %slot = arith.remui %i, %c3 : index
      %buffer = arith.remui %i, %c2 : index
      scf.for %r = %first_row to %c16 step %c2 {
        %at = arith.addi %row, %r : index
        %row_is_inside = arith.cmpi ult, %at, %rows : index
        %is_inside = arith.andi %row_is_inside, %column_is_inside : i1
        %vc = scf.if %is_inside -> f32 {
          %loaded = memref.load %c[%at, %column] : !Matrix
          scf.yield %loaded : f32
        } else {
          scf.yield %zero : f32
        }
        %va = memref.load %a_slots[%slot, %r, %in_tile] : !Slots
        %vb = memref.load %b_slots[%slot, %r, %in_tile] : !Slots
        %product = arith.mulf %va, %vb : f32
        %result = arith.addf %product, %vc : f32
        memref.store %result, %results[%buffer, %r, %in_tile] : !Results
      }
      %tile = memref.subview %results[%buffer, 0, 0] [1, 16, 64] [1, 1, 1] : !Results to !Slot
      %read, %done = gpux.tma_store async %tile, %out[%row, %left] : !Slot, !Tile
      scf.yield %a_next, %load, %b_next, %copy, %stored_last, %read
          : !async.token, !async.token, !async.token, !async.token, !async.token, !async.token
    }
    // Loads of tiles that nobody reads are left, and the last results are still being stored.
    async.await %rest#0, %rest#1, %rest#2, %rest#3, %rest#4, %rest#5
    gpu.return
  }
}
