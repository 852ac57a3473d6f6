// What a thread has waited for, other threads see after a block barrier: the barrier comes after the wait, and one more
// before the slot is filled again.
//
// RUN: async-sim %s --kernel=right | FileCheck %s --check-prefix=RIGHT
// RUN: not async-sim %s --kernel=before_the_wait | FileCheck %s --check-prefix=BEFORE
// RUN: not async-sim %s --kernel=none_before_reuse | FileCheck %s --check-prefix=REUSE

!src = memref<256xf32>
!slots = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // RIGHT: {{^}}right: clean
  gpu.func @right(%src: !src, %dst: !src) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c63, %t : index
    gpux.copy %src[%t], %slots[%c0, %t], 1 : !src to !slots
    gpux.commit_group <cp_async>
    scf.for %i = %c0 to %c3 step %c1 {
      %next = arith.addi %i, %c1 : index
      %this = arith.andi %i, %c1 : index
      %other = arith.andi %next, %c1 : index
      %row = arith.muli %next, %c64 : index
      %from = arith.addi %row, %t : index
      gpux.copy %src[%from], %slots[%other, %t], 1 : !src to !slots
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 1
      gpu.barrier
      %x = memref.load %slots[%this, %mirror] : !slots
      memref.store %x, %dst[%from] : !src
      gpu.barrier
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // BEFORE: error: RAW race: memref.load reads what another thread copied, and no block barrier lies between that copy's wait and this
  // BEFORE-NEXT: this: thread {{[0-9]+}} of block 0, iteration 0 of the scf.for at {{.*}}barriers.mlir
  // BEFORE: help: put a gpu.barrier after the wait for the copy, before this
  gpu.func @before_the_wait(%src: !src, %dst: !src) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c63, %t : index
    gpux.copy %src[%t], %slots[%c0, %t], 1 : !src to !slots
    gpux.commit_group <cp_async>
    scf.for %i = %c0 to %c3 step %c1 {
      %next = arith.addi %i, %c1 : index
      %this = arith.andi %i, %c1 : index
      %other = arith.andi %next, %c1 : index
      %row = arith.muli %next, %c64 : index
      %from = arith.addi %row, %t : index
      gpux.copy %src[%from], %slots[%other, %t], 1 : !src to !slots
      gpux.commit_group <cp_async>
      gpu.barrier
      gpux.wait_group <cp_async>, 1
      %x = memref.load %slots[%this, %mirror] : !slots
      memref.store %x, %dst[%from] : !src
      gpu.barrier
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // REUSE: error: WAR race: gpux.copy writes what another thread reads, and no block barrier lies between
  // REUSE: against: memref.load
  // REUSE: help: put a gpu.barrier between the two, or give the buffer another slot
  gpu.func @none_before_reuse(%src: !src, %dst: !src) workgroup(%slots: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c63, %t : index
    gpux.copy %src[%t], %slots[%c0, %t], 1 : !src to !slots
    gpux.commit_group <cp_async>
    scf.for %i = %c0 to %c3 step %c1 {
      %next = arith.addi %i, %c1 : index
      %this = arith.andi %i, %c1 : index
      %other = arith.andi %next, %c1 : index
      %row = arith.muli %next, %c64 : index
      %from = arith.addi %row, %t : index
      gpux.copy %src[%from], %slots[%other, %t], 1 : !src to !slots
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 1
      gpu.barrier
      %x = memref.load %slots[%this, %mirror] : !slots
      memref.store %x, %dst[%from] : !src
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}
