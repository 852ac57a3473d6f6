// A copy pipeline whose producer is predicated: dst = alpha * src for a size that is no multiple of the tile. A copy is
// issued only where its 16 bytes lie inside src, in the prologue and in the loop.
//
//   async-opt predicated_copy.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx
//   async-sim predicated_copy.mlir --grid=2 --arg 0=3000:random --arg 1=3000:zero --arg 2=0.5
//
// Waits: 2 in the loop. A thread that skips a copy has fewer groups in flight, so counting alone arrives at 0 (see
// --gpux-tokens-to-groups="balance=false"). Balancing commits once after each `scf.if`, an empty group where the copy was
// skipped, and every path counts alike again.
//
// Launch: blocks of 128 threads, as many as you like. A tile is 512 floats; the size of src and dst is a multiple of 4.
// Block b takes tiles b, b + gridDim.x, b + 2*gridDim.x, ...; three of them are in flight, in four slots.

!Vector = memref<?xf32>
!Slots = memref<4x512xf32, #gpu.address_space<workgroup>>

gpu.module @predicated_copy {
  gpu.func @scale_ragged(%src: !Vector, %dst: !Vector, %alpha: f32) workgroup(%slots: !Slots) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index

    %block = gpu.block_id x
    %blocks = gpu.grid_dim x
    %size = memref.dim %src, %c0 : !Vector
    %first = arith.muli %block, %c512 : index
    %step = arith.muli %blocks, %c512 : index
    %ahead = arith.muli %step, %c3 : index
    %t = gpu.thread_id x
    %chunk = arith.muli %t, %c4 : index

    // Prologue: three tiles on their way, as far as they exist.
    %from0 = arith.addi %first, %chunk : index
    %from1 = arith.addi %from0, %step : index
    %from2 = arith.addi %from1, %step : index
    %inside0 = arith.cmpi ult, %from0, %size : index
    %inside1 = arith.cmpi ult, %from1, %size : index
    %inside2 = arith.cmpi ult, %from2, %size : index
    %copy0 = scf.if %inside0 -> (!async.token) {
      %copied = gpux.copy async %src[%from0], %slots[%c0, %chunk], 4 {bypass_l1} : !Vector to !Slots
      scf.yield %copied : !async.token
    } else {
      %skipped = async.ready
      scf.yield %skipped : !async.token
    }
    %copy1 = scf.if %inside1 -> (!async.token) {
      %copied = gpux.copy async %src[%from1], %slots[%c1, %chunk], 4 {bypass_l1} : !Vector to !Slots
      scf.yield %copied : !async.token
    } else {
      %skipped = async.ready
      scf.yield %skipped : !async.token
    }
    %copy2 = scf.if %inside2 -> (!async.token) {
      %copied = gpux.copy async %src[%from2], %slots[%c2, %chunk], 4 {bypass_l1} : !Vector to !Slots
      scf.yield %copied : !async.token
    } else {
      %skipped = async.ready
      scf.yield %skipped : !async.token
    }

    %end:4 = scf.for %tile = %first to %size step %step
        iter_args(%slot = %c0, %current = %copy0, %second = %copy1, %third = %copy2)
        -> (index, !async.token, !async.token, !async.token) {
      async.await %current
      gpu.barrier

      // The tile after the next two, into the slot that every thread has read before the barrier just passed.
      %next_tile = arith.addi %tile, %ahead : index
      %next_from = arith.addi %next_tile, %chunk : index
      %inside = arith.cmpi ult, %next_from, %size : index
      %slot_plus_3 = arith.addi %slot, %c3 : index
      %next_slot = arith.andi %slot_plus_3, %c3 : index
      %next = scf.if %inside -> (!async.token) {
        %copied = gpux.copy async %src[%next_from], %slots[%next_slot, %chunk], 4 {bypass_l1} : !Vector to !Slots
        scf.yield %copied : !async.token
      } else {
        %skipped = async.ready
        scf.yield %skipped : !async.token
      }

      // Elements t, t+128, t+256, t+384 of this tile, copied by other threads.
      scf.for %at = %t to %c512 step %c128 {
        %to = arith.addi %tile, %at : index
        %store = arith.cmpi ult, %to, %size : index
        scf.if %store {
          %x = memref.load %slots[%slot, %at] : !Slots
          %y = arith.mulf %alpha, %x : f32
          memref.store %y, %dst[%to] : !Vector
        }
      }
      %slot_plus_1 = arith.addi %slot, %c1 : index
      %slot_next = arith.andi %slot_plus_1, %c3 : index
      scf.yield %slot_next, %second, %third, %next : index, !async.token, !async.token, !async.token
    }
    gpu.return
  }
}
