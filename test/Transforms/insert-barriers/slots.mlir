// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Slots and buffers that take turns: a barrier in each iteration orders what comes a whole round later, too.

!row = memref<64xf32, #gpu.address_space<workgroup>>
!slots = memref<3x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @of_affine_maps
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @of_affine_maps(%a: memref<?x64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %mirrored = affine.apply affine_map<(d0) -> (63 - d0)>(%t)
    scf.for %k = %c0 to %n step %c1 {
      %v = memref.load %a[%k, %t] : memref<?x64xf32>
      %slot = affine.apply affine_map<(d0) -> ((d0 + 1) mod 3)>(%k)
      memref.store %v, %s[%slot, %t] : !slots
      %w = memref.load %s[%slot, %mirrored] : !slots
      memref.store %w, %a[%k, %t] : memref<?x64xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @clamped
  // CHECK-NOT: gpu.barrier
  // CHECK-LABEL: gpu.func @clamped_to_one_more
  // CHECK: gpu.barrier
  gpu.func @clamped(%x: f32, %out: memref<64xf32>) workgroup(%s: memref<128xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %low = affine.min affine_map<(d0) -> (d0 + 1, 63)>(%t)
    %high = affine.max affine_map<(d0) -> (d0 + 60, 64)>(%t)
    memref.store %x, %s[%low] : memref<128xf32, #gpu.address_space<workgroup>>
    %v = memref.load %s[%high] : memref<128xf32, #gpu.address_space<workgroup>>
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
  gpu.func @clamped_to_one_more(%x: f32, %out: memref<64xf32>)
      workgroup(%s: memref<128xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %low = affine.min affine_map<(d0) -> (d0 + 1, 64)>(%t)
    %high = affine.max affine_map<(d0) -> (d0 + 60, 64)>(%t)
    memref.store %x, %s[%low] : memref<128xf32, #gpu.address_space<workgroup>>
    %v = memref.load %s[%high] : memref<128xf32, #gpu.address_space<workgroup>>
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @buffers_in_turn
  // CHECK: scf.for
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @buffers_in_turn(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %last, %buffers:2 = scf.for %k = %c0 to %n step %c1 iter_args(%v = %x, %now = %a, %next = %b) -> (f32, !row, !row) {
      memref.store %v, %now[%t] : !row
      %w = memref.load %now[%mirrored] : !row
      scf.yield %w, %next, %now : f32, !row, !row
    }
    memref.store %last, %out[%t] : memref<64xf32>
    gpu.return
  }

  // The first one is read after the loop: which of the two that is hinges on the number of iterations.
  //
  // CHECK-LABEL: gpu.func @read_after_turns
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: memref.store
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @read_after_turns(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %last, %buffers:2 = scf.for %k = %c0 to %n step %c1 iter_args(%v = %x, %now = %a, %next = %b) -> (f32, !row, !row) {
      memref.store %v, %now[%t] : !row
      %w = memref.load %now[%mirrored] : !row
      scf.yield %w, %next, %now : f32, !row, !row
    }
    memref.store %last, %out[%t] : memref<64xf32>
    %w = memref.load %a[%mirrored] : !row
    memref.store %w, %out[%t] : memref<64xf32>
    gpu.return
  }

  // The buffer that comes next is written while this one is read.
  //
  // CHECK-LABEL: gpu.func @next_in_turn
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK: memref.load
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @next_in_turn(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: memref<2x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %a = memref.subview %s[%c0, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>>
        to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %b = memref.subview %s[%c1, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>>
        to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %buffers:2 = scf.for %k = %c0 to %n step %c1 iter_args(%now = %a, %next = %b)
        -> (memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>,
            memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>) {
      memref.store %x, %next[%t] : memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
      %w = memref.load %now[%mirrored] : memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
      memref.store %w, %out[%t] : memref<64xf32>
      scf.yield %next, %now : memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>,
          memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // The slots go on from tile to tile.
  //
  // CHECK-LABEL: gpu.func @persistent
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @persistent(%x: f32, %out: memref<64xf32>, %tiles: index, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %tile = %c0 to %tiles step %c1 iter_args(%first = %c0) -> index {
      %left = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %first) -> index {
        memref.store %x, %s[%slot, %t] : !slots
        %w = memref.load %s[%slot, %mirrored] : !slots
        memref.store %w, %out[%t] : memref<64xf32>
        %more = arith.addi %slot, %c1 : index
        %next = arith.remui %more, %c3 : index
        scf.yield %next : index
      }
      scf.yield %left : index
    }
    gpu.return
  }

  // They begin again in each tile.
  //
  // CHECK-LABEL: gpu.func @begins_again
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: scf.yield
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @begins_again(%x: f32, %out: memref<64xf32>, %tiles: index, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.for %tile = %c0 to %tiles step %c1 {
      %left = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0) -> index {
        memref.store %x, %s[%slot, %t] : !slots
        %w = memref.load %s[%slot, %mirrored] : !slots
        memref.store %w, %out[%t] : memref<64xf32>
        %more = arith.addi %slot, %c1 : index
        %next = arith.remui %more, %c3 : index
        scf.yield %next : index
      }
    }
    gpu.return
  }

  // It goes on from where the inner loop has left it, which has not read that slot in its last two iterations.
  //
  // CHECK-LABEL: gpu.func @written_after_the_inner_loop
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @written_after_the_inner_loop(%x: f32, %out: memref<64xf32>, %tiles: index, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %tile = %c0 to %tiles step %c1 iter_args(%first = %c0) -> index {
      %left = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %first) -> index {
        memref.store %x, %s[%slot, %t] : !slots
        %w = memref.load %s[%slot, %mirrored] : !slots
        memref.store %w, %out[%t] : memref<64xf32>
        %more = arith.addi %slot, %c1 : index
        %next = arith.remui %more, %c3 : index
        scf.yield %next : index
      }
      memref.store %x, %s[%left, %t] : !slots
      scf.yield %left : index
    }
    gpu.return
  }

  // The slot before that is the one that was read last.
  //
  // CHECK-LABEL: gpu.func @last_one_written_after_the_inner_loop
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @last_one_written_after_the_inner_loop(%x: f32, %out: memref<64xf32>, %tiles: index, %n: index)
      workgroup(%s: !slots) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %tile = %c0 to %tiles step %c1 iter_args(%first = %c0) -> index {
      %left = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %first) -> index {
        memref.store %x, %s[%slot, %t] : !slots
        %w = memref.load %s[%slot, %mirrored] : !slots
        memref.store %w, %out[%t] : memref<64xf32>
        %more = arith.addi %slot, %c1 : index
        %next = arith.remui %more, %c3 : index
        scf.yield %next : index
      }
      %two_more = arith.addi %left, %c2 : index
      %last = arith.remui %two_more, %c3 : index
      memref.store %x, %s[%last, %t] : !slots
      scf.yield %left : index
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @counting_down
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @counting_down(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c2) -> index {
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %is_first = arith.cmpi eq, %slot, %c0 : index
      %less = arith.subi %slot, %c1 : index
      %next = arith.select %is_first, %c2, %less : index
      scf.yield %next : index
    }
    gpu.return
  }

  // The number that is compared is -1, and where the slots begin is not known.
  //
  // CHECK-LABEL: gpu.func @counting_down_below_zero
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @counting_down_below_zero(%x: f32, %out: memref<64xf32>, %n: index, %first: i32) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%number = %first) -> i32 {
      %slot = arith.index_cast %number : i32 to index
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %less = arith.subi %number, %c1_i32 : i32
      %is_slot = arith.cmpi sge, %less, %c0_i32 : i32
      %next = arith.select %is_slot, %less, %c2_i32 : i32
      scf.yield %next : i32
    }
    gpu.return
  }

  // Slot 1 is the last one, so there are two.
  //
  // CHECK-LABEL: gpu.func @counting_down_to_one
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @counting_down_to_one(%x: f32, %out: memref<64xf32>, %n: index, %first: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %first) -> index {
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %is_first = arith.cmpi eq, %slot, %c1 : index
      %less = arith.subi %slot, %c1 : index
      %next = arith.select %is_first, %c2, %less : index
      scf.yield %next : index
    }
    gpu.return
  }

  // The lowest bits of the counter.
  //
  // CHECK-LABEL: gpu.func @lowest_bit
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @lowest_bit(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %first = arith.constant -3 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.for %i = %first to %n step %c1 {
      %number = arith.index_cast %i : index to i32
      %bit = arith.trunci %number : i32 to i1
      %slot = arith.index_castui %bit : i1 to index
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @lowest_bit_by_a_mask
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @lowest_bit_by_a_mask(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.for %i = %c0 to %n step %c1 {
      %before = arith.subi %i, %c1 : index
      %slot = arith.andi %before, %c1 : index
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }
}
