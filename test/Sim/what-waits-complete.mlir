// A report says what the last wait has completed: how many groups, the youngest of them, or what a token stands for.
//
// RUN: not async-sim %s --kernel=one_group_too_many --arg 0=32:ramp | FileCheck %s --check-prefix=COUNT
// RUN: not async-sim %s --kernel=one_group_too_many --arg 0=32:ramp --json | FileCheck %s --check-prefix=JSON
// RUN: not async-sim %s --kernel=committed_later --arg 0=32:ramp | FileCheck %s --check-prefix=LATER
// RUN: not async-sim %s --kernel=not_committed --arg 0=32:ramp | FileCheck %s --check-prefix=NONE
// RUN: not async-sim %s --kernel=not_committed_in_the_loop --arg 0=64:ramp | FileCheck %s --check-prefix=LOOP
// RUN: not async-sim %s --kernel=another_queue --arg 0=32:ramp | FileCheck %s --check-prefix=QUEUE
// RUN: not async-sim %s --kernel=another_token --arg 0=32:ramp | FileCheck %s --check-prefix=TOKEN
// RUN: not async-sim %s --kernel=no_wait --arg 0=32:ramp | FileCheck %s --check-prefix=NOTHING
// RUN: not async-sim %s --kernel=one_byte | FileCheck %s --check-prefix=BYTE

!src = memref<?xf32>
!line = memref<32xf32, #gpu.address_space<workgroup>>
#one_thread = array<i32: 1, 1, 1>

gpu.module @waits {
  // Of five groups, three are complete, and the fourth is needed.
  // COUNT: error: RAW race: memref.load
  // COUNT: against: gpux.copy at {{.*}}, thread 0 of block 0, iteration 3 of the scf.for
  // COUNT-NEXT: on: bytes 48 to 51 of workgroup buffer %line (from element [12] on){{$}}
  // COUNT-NEXT: waited: last by gpux.wait_group at {{.*}}, thread 0 of block 0{{$}}
  // COUNT-NEXT: it completes 3 of 5 groups of this thread; the copy is in the 4th: the count is 2 and has to be 1
  // COUNT-NEXT: the 3rd of them: gpux.copy at {{.*}}, iteration 2 of the scf.for at
  // COUNT-NEXT: help: wait for the copy before this: let the wait there leave at most 1 group in flight
  // JSON: "last_wait": {
  // JSON: "complete": [
  // JSON: "iteration": 2
  // JSON: "groups": {
  // JSON-NEXT: "committed": 5,
  // JSON-NEXT: "complete": 3
  gpu.func @one_group_too_many(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c12 = arith.constant 12 : index
    scf.for %i = %c0 to %c5 step %c1 {
      %at = arith.muli %i, %c4 : index
      gpux.copy %x[%at], %line[%at], 4 : !src to !line
      gpux.commit_group <cp_async>
    }
    gpux.wait_group <cp_async>, 2
    %v = memref.load %line[%c12] : !line
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // LATER: it completes 0 of 0 groups of this thread; the copy came before it and was committed later
  // LATER-NEXT: help: commit a group between the copy and the wait: the wait is for groups, and the copy was in none
  gpu.func @committed_later(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    gpux.copy %x[%c0], %line[%c0], 4 : !src to !line
    gpux.wait_group <cp_async>, 0
    gpux.commit_group <cp_async>
    %v = memref.load %line[%c0] : !line
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // The count is right, with a commit in the loop. Without it, that of the first copies is too large, which is not the cause.
  // LOOP: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // LOOP: against: gpux.copy at {{.*}}, thread 0 of block 0, iteration 0 of the scf.for
  // LOOP: it completes 1 of 2 groups of this thread; the copy came before it and was in none of them
  // LOOP: help: commit a group between the copy and the wait: the wait is for groups, and the copy was in none
  // LOOP-NEXT: also: RAW of memref.load
  gpu.func @not_committed_in_the_loop(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    scf.for %i = %c0 to %c2 step %c1 {
      gpux.copy %x[%i], %line[%i], 1 : !src to !line
      gpux.commit_group <cp_async>
    }
    scf.for %i = %c0 to %c6 step %c1 {
      %next = arith.addi %i, %c2 : index
      gpux.copy %x[%next], %line[%next], 1 : !src to !line
      gpux.wait_group <cp_async>, 1
      %v = memref.load %line[%i] : !line
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // The group that the wait completes has nothing in it.
  // NONE: it completes 1 of 1 group of this thread; the copy came before it and was in none of them
  // NONE-NEXT: the 1st of them is empty
  // NONE-NEXT: help: commit a group between the copy and the wait: the wait is for groups, and the copy was in none
  gpu.func @not_committed(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    gpux.commit_group <cp_async>
    gpux.copy %x[%c0], %line[%c0], 4 : !src to !line
    gpux.wait_group <cp_async>, 0
    %v = memref.load %line[%c0] : !line
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // QUEUE: it completes 0 of 0 groups of this thread; the copy is in another queue
  gpu.func @another_queue(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    gpux.copy %x[%c0], %line[%c0], 4 : !src to !line
    gpux.commit_group <cp_async>
    gpux.wait_group <bulk>, 0
    %v = memref.load %line[%c0] : !line
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // TOKEN: waited: last by async.await
  // TOKEN-NEXT: what-waits-complete.mlir:[[#@LINE+5]]:
  // TOKEN-NEXT: help: await the token of that copy
  gpu.func @another_token(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %second = gpux.copy async %x[%c4], %line[%c4], 4 : !src to !line
    %first = gpux.copy async %x[%c0], %line[%c0], 4 : !src to !line
    async.await %second
    %v = memref.load %line[%c0] : !line
    async.await %first
    gpu.return
  }

  // NOTHING: waited: not at all before this
  gpu.func @no_wait(%x: !src) workgroup(%line: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    gpux.copy %x[%c0], %line[%c0], 4 : !src to !line
    %v = memref.load %line[%c0] : !line
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // BYTE: on: byte 1 of workgroup buffer %bytes (from element [1] on) the first time; 1 byte in later accesses
  gpu.func @one_byte() workgroup(%bytes: memref<4xi8, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 3, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c0_i8 = arith.constant 0 : i8
    memref.store %c0_i8, %bytes[%c1] : memref<4xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
