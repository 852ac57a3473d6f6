// RUN: async-opt %s --gpux-insert-barriers -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %t --kernel=halo --arg=2=5 | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t --kernel=tile --arg=2=20 --arg=3=40 | FileCheck %s --check-prefix=CLEAN

// Loops that threads run apart from each other: each thread has elements of its own, in whatever iteration.

// CLEAN: clean
// SAID-NOT: warning
// SAID: halo
// SAID-NOT: warning

!Slots = memref<2x66xf32, #gpu.address_space<workgroup>>
!Tile = memref<20x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two more elements than threads: the first two threads load two each. A slot is written while the other one is read.
  //
  // CHECK-LABEL: gpu.func @halo
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @halo(%in: memref<66xf32>, %out: memref<64xf32>, %n: index) workgroup(%s: !Slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c66 = arith.constant 66 : index
    %t = gpu.thread_id x
    %right = arith.addi %t, %c2 : index
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.remui %i, %c2 : index
      scf.for %h = %t to %c66 step %c64 {
        %x = memref.load %in[%h] : memref<66xf32>
        memref.store %x, %s[%slot, %h] : !Slots
      }
      %v = memref.load %s[%slot, %right] : !Slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // Neither size is known, but no index is out of bounds.
  //
  // CHECK-LABEL: gpu.func @tile
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @tile(%in: memref<20x64xf32>, %out: memref<4x32xf32>, %h: index, %w: index) workgroup(%s: !Tile) kernel
      attributes {known_block_size = array<i32: 32, 4, 1>} {
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %other = arith.subi %c3, %ty : index
    scf.for %i = %ty to %h step %c4 {
      scf.for %j = %tx to %w step %c32 {
        %x = memref.load %in[%i, %j] : memref<20x64xf32>
        memref.store %x, %s[%i, %j] : !Tile
      }
    }
    %v = memref.load %s[%other, %tx] : !Tile
    memref.store %v, %out[%ty, %tx] : memref<4x32xf32>
    gpu.return
  }

  // As an unsigned number, the bound is a large one.
  //
  // CHECK-LABEL: gpu.func @unsigned_bound
  // CHECK: scf.for unsigned
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @unsigned_bound(%in: memref<66xf32>, %out: memref<64xf32>, %s: !Slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %end = arith.constant -64 : index
    %t = gpu.thread_id x
    %right = arith.addi %t, %c2 : index
    scf.for unsigned %h = %t to %end step %c64 {
      %x = memref.load %in[%h] : memref<66xf32>
      memref.store %x, %s[%c0, %h] : !Slots
    }
    %v = memref.load %s[%c0, %right] : !Slots
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
}
