// A slot is filled again before anybody has read what is in it: the slot is wrong, and no wait or barrier would help. That is told
// apart from a wait that is missing, after which each tile is read, if too early.
//
// RUN: not async-sim %s --kernel=halo | FileCheck %s --check-prefix=HALO
// RUN: not async-sim %s --kernel=tile_too_far_ahead | FileCheck %s --check-prefix=TILE
// RUN: not async-sim %s --kernel=reads_what_is_filled | FileCheck %s --check-prefix=FILLED
// RUN: not async-sim %s --kernel=too_far_ahead --arg 0=8x64:ramp | FileCheck %s --check-prefix=AHEAD
// RUN: not async-sim %s --kernel=missing_wait | FileCheck %s --check-prefix=WAIT

!slots = memref<3x32xf32, #gpu.address_space<workgroup>>
!tiles = memref<2x8x32xf32, #gpu.address_space<workgroup>>
!tile = memref<8x32xf32, strided<[32, 1], offset: ?>, #gpu.address_space<workgroup>>
!tensor = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = none, l2promo = none, oob = zero,
                                      interleave = none>

gpu.module @wrong_slots {
  // Slots modulo 2 instead of 3, where other threads copy than those that read.
  // HALO: error: RAW race: memref.load reads where a later copy writes already: what an earlier copy brought there has not been read
  // HALO-NEXT: this: thread 32 of block 0, iteration 3
  // HALO-NEXT: seen in
  // HALO-NEXT: against: gpux.copy at {{.*}}, thread 0 of block 0, iteration 2
  // HALO: help: let one of the copies go to another slot: compare its index, and what that is taken modulo, with the index here
  // HALO-NOT: put a gpu.barrier
  gpu.func @halo(%in: memref<8x32xf32>, %out: memref<8x32xf32>) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %column = arith.muli %t, %c4 : index
    %copies = arith.cmpi ult, %t, %c8 : index
    %reads = arith.cmpi uge, %t, %c32 : index
    scf.for %i = %c0 to %c2 step %c1 {
      scf.if %copies {
        gpux.copy %in[%i, %column], %slots[%i, %column], 4 : memref<8x32xf32> to !slots
      }
      gpux.commit_group <cp_async>
    }
    scf.for %i = %c0 to %c6 step %c1 {
      gpux.wait_group <cp_async>, 1
      gpu.barrier
      %next = arith.addi %i, %c2 : index
      %to = arith.remui %next, %c2 : index
      scf.if %copies {
        gpux.copy %in[%next, %column], %slots[%to, %column], 4 : memref<8x32xf32> to !slots
      }
      gpux.commit_group <cp_async>
      %slot = arith.remui %i, %c3 : index
      scf.if %reads {
        %x = arith.subi %t, %c32 : index
        %value = memref.load %slots[%slot, %x] : !slots
        memref.store %value, %out[%i, %x] : memref<8x32xf32>
      }
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // TILE: error: RAW race: memref.load reads where a later copy writes already: what an earlier copy brought there has not been read
  // TILE: against: gpux.tma_load at {{.*}}, thread 0 of block 0, iteration 0 of the scf.for
  // TILE: help: let one of the copies go to another slot
  gpu.func @tile_too_far_ahead(%x: !tensor, %out: memref<4x32xf32>) workgroup(%tiles: !tiles) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %tile0 = memref.subview %tiles[%c0, 0, 0] [1, 8, 32] [1, 1, 1] : !tiles to !tile
    %tile1 = memref.subview %tiles[%c1, 0, 0] [1, 8, 32] [1, 1, 1] : !tiles to !tile
    %first = gpux.tma_load async %x[%c0, %c0], %tile0 : !tensor, !tile
    %second = gpux.tma_load async %x[%c8, %c0], %tile1 : !tensor, !tile
    %last:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%current = %first, %other = %second)
        -> (!async.token, !async.token) {
      async.await %current
      %slot = arith.remui %i, %c2 : index
      %next = arith.addi %i, %c2 : index
      %row = arith.muli %next, %c8 : index
      %at = memref.subview %tiles[%slot, 0, 0] [1, 8, 32] [1, 1, 1] : !tiles to !tile
      %load = gpux.tma_load async %x[%row, %c0], %at : !tensor, !tile
      %value = memref.load %tiles[%slot, %c0, %t] : !tiles
      memref.store %value, %out[%i, %t] : memref<4x32xf32>
      scf.yield %other, %load : !async.token, !async.token
    }
    async.await %last#0, %last#1
    gpu.return
  }

  // The wait is right for what came before it. Each row is read once, too early: the copy may as well be waited for.
  // FILLED: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // FILLED: it completes 1 of 1 group of this thread; the copy came later
  // FILLED: help: wait for the copy between it and this: the wait there comes before the copy. If this is to read what an earlier copy has brought, let it, or the copy, go to another slot
  gpu.func @reads_what_is_filled(%in: memref<8x32xf32>, %out: memref<8x32xf32>) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c7 = arith.constant 7 : index
    %t = gpu.thread_id x
    gpux.copy %in[%c0, %t], %slots[%c0, %t], 1 : memref<8x32xf32> to !slots
    gpux.commit_group <cp_async>
    scf.for %i = %c0 to %c7 step %c1 {
      %next = arith.addi %i, %c1 : index
      %to = arith.remui %next, %c2 : index
      gpux.wait_group <cp_async>, 0
      gpux.copy %in[%next, %t], %slots[%to, %t], 1 : memref<8x32xf32> to !slots
      gpux.commit_group <cp_async>
      %value = memref.load %slots[%to, %t] : !slots
      memref.store %value, %out[%i, %t] : memref<8x32xf32>
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // Each thread reads what another one copies. Nothing is in the third slot at first, but there is in that where they collide.
  // AHEAD: error: RAW race: memref.load reads where a copy of another thread writes, and no block barrier lies between
  // AHEAD: help: wait for the copy and put a gpu.barrier after that wait, before this: the wait there comes before the copy. If this is to read what an earlier copy has brought, let it, or the copy, go to another slot
  // AHEAD-NEXT: also: WAR of gpux.copy
  // AHEAD-NOT: when nothing was there
  gpu.func @too_far_ahead(%in: memref<?x64xf32>, %out: memref<8x32xf32>)
      workgroup(%slots: memref<3x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %column = arith.muli %t, %c2 : index
    %other = arith.xori %t, %c16 : index
    %far = arith.muli %other, %c2 : index
    scf.for %i = %c0 to %c2 step %c1 {
      gpux.copy %in[%i, %column], %slots[%i, %column], 2 : memref<?x64xf32> to memref<3x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
    }
    scf.for %i = %c0 to %c5 step %c1 {
      gpux.wait_group <cp_async>, 1
      gpu.barrier
      %next = arith.addi %i, %c3 : index
      %to = arith.remui %next, %c3 : index
      gpux.copy %in[%next, %column], %slots[%to, %column], 2
          : memref<?x64xf32> to memref<3x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      %slot = arith.remui %i, %c3 : index
      %value = memref.load %slots[%slot, %far] : memref<3x64xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%i, %t] : memref<8x32xf32>
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // WAIT: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // WAIT: help: wait for the copy before this{{$}}
  // WAIT-NOT: another slot
  gpu.func @missing_wait(%in: memref<8x32xf32>, %out: memref<8x32xf32>) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c8 step %c1 {
      gpux.copy %in[%i, %t], %slots[%c0, %t], 1 : memref<8x32xf32> to !slots
      gpux.commit_group <cp_async>
      gpu.barrier
      %value = memref.load %slots[%c0, %t] : !slots
      memref.store %value, %out[%i, %t] : memref<8x32xf32>
      gpu.barrier
    }
    gpu.return
  }
}
