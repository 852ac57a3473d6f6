// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Slots and buffers that an scf.while hands from one iteration to the next.

!row = memref<64xf32, #gpu.address_space<workgroup>>
!slots = memref<3x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @counter
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @counter(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.while (%i = %c0) : (index) -> index {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %slot = arith.remui %i, %c3 : index
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %next = arith.addi %i, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }

  // The body has them in another order, and the next slot is computed before it is known whether there is an iteration.
  //
  // CHECK-LABEL: gpu.func @slot
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @slot(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end:3 = scf.while (%i = %c0, %slot = %c0) : (index, index) -> (index, index, index) {
      %more = arith.cmpi slt, %i, %n : index
      %one_more = arith.addi %slot, %c1 : index
      %is_last = arith.cmpi eq, %one_more, %c3 : index
      %next_slot = arith.select %is_last, %c0, %one_more : index
      scf.condition(%more) %next_slot, %slot, %i : index, index, index
    } do {
    ^bb0(%next_slot: index, %slot: index, %i: index):
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %next = arith.addi %i, %c1 : index
      scf.yield %next, %next_slot : index, index
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @buffers
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @buffers(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end:3 = scf.while (%i = %c0, %now = %a, %next = %b) : (index, !row, !row) -> (index, !row, !row) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i, %now, %next : index, !row, !row
    } do {
    ^bb0(%i: index, %now: !row, %next: !row):
      memref.store %x, %now[%t] : !row
      %v = memref.load %now[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
      %more = arith.addi %i, %c1 : index
      scf.yield %more, %next, %now : index, !row, !row
    }
    gpu.return
  }

  // What is read in the end is the buffer that would be next: the last one that was written is the other one.
  //
  // CHECK-LABEL: gpu.func @buffer_after_the_loop
  // CHECK: scf.while
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  // CHECK-LABEL: gpu.func @other_buffer_after_the_loop
  // CHECK: scf.while
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @buffer_after_the_loop(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end:3 = scf.while (%i = %c0, %now = %a, %next = %b) : (index, !row, !row) -> (!row, !row, index) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %now, %next, %i : !row, !row, index
    } do {
    ^bb0(%now: !row, %next: !row, %i: index):
      %v = memref.load %next[%t] : !row
      memref.store %v, %out[%t] : memref<64xf32>
      %more = arith.addi %i, %c1 : index
      scf.yield %more, %next, %now : index, !row, !row
    }
    memref.store %x, %end#1[%t] : !row
    %w = memref.load %end#0[%mirrored] : !row
    memref.store %w, %out[%t] : memref<64xf32>
    gpu.return
  }
  gpu.func @other_buffer_after_the_loop(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%a: !row, %b: !row, %c: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end:3 = scf.while (%i = %c0, %now = %a, %next = %b) : (index, !row, !row) -> (!row, !row, index) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %now, %next, %i : !row, !row, index
    } do {
    ^bb0(%now: !row, %next: !row, %i: index):
      %v = memref.load %next[%t] : !row
      memref.store %v, %out[%t] : memref<64xf32>
      %more = arith.addi %i, %c1 : index
      scf.yield %more, %next, %now : index, !row, !row
    }
    memref.store %x, %end#1[%t] : !row
    %w = memref.load %end#1[%mirrored] : !row
    memref.store %w, %out[%t] : memref<64xf32>
    gpu.return
  }

  // A tile ahead in three slots.
  //
  // CHECK-LABEL: gpu.func @copies
  // CHECK: async.await
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @copies(%a: memref<64xf32>, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %first = gpux.copy async %a[%t], %s[%c0, %t], 1 : memref<64xf32> to !slots
    %end:3 = scf.while (%i = %c0, %slot = %c0, %tile = %first) : (index, index, !async.token) -> (index, index, !async.token) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i, %slot, %tile : index, index, !async.token
    } do {
    ^bb0(%i: index, %slot: index, %tile: !async.token):
      %one_more = arith.addi %slot, %c1 : index
      %next_slot = arith.remui %one_more, %c3 : index
      async.await %tile
      %ahead = gpux.copy async %a[%t], %s[%next_slot, %t], 1 : memref<64xf32> to !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %next = arith.addi %i, %c1 : index
      scf.yield %next, %next_slot, %ahead : index, index, !async.token
    }
    async.await %end#2
    gpu.return
  }

  // The slot goes on in some iterations only.
  //
  // CHECK-LABEL: gpu.func @sometimes
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @sometimes(%x: f32, %out: memref<64xf32>, %n: index, %odd: i1) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end:2 = scf.while (%i = %c0, %slot = %c0) : (index, index) -> (index, index) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i, %slot : index, index
    } do {
    ^bb0(%i: index, %slot: index):
      memref.store %x, %s[%slot, %t] : !slots
      %v = memref.load %s[%slot, %mirrored] : !slots
      memref.store %v, %out[%t] : memref<64xf32>
      %one_more = arith.addi %slot, %c1 : index
      %wrapped = arith.remui %one_more, %c3 : index
      %next_slot = arith.select %odd, %wrapped, %slot : index
      %next = arith.addi %i, %c1 : index
      scf.yield %next, %next_slot : index, index
    }
    gpu.return
  }

  // What the loop has in the end is the slot after the one that was read last; two more is that one again.
  //
  // CHECK-LABEL: gpu.func @last_one_written_after_the_inner_loop
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: scf.yield
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.store
  // CHECK: gpu.return
  gpu.func @last_one_written_after_the_inner_loop(%x: f32, %out: memref<64xf32>, %tiles: index, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %end = scf.for %tile = %c0 to %tiles step %c1 iter_args(%first = %c0) -> index {
      %left:2 = scf.while (%i = %c0, %slot = %first) : (index, index) -> (index, index) {
        %more = arith.cmpi slt, %i, %n : index
        scf.condition(%more) %i, %slot : index, index
      } do {
      ^bb0(%i: index, %slot: index):
        memref.store %x, %s[%slot, %t] : !slots
        %v = memref.load %s[%slot, %mirrored] : !slots
        memref.store %v, %out[%t] : memref<64xf32>
        %one_more = arith.addi %slot, %c1 : index
        %next_slot = arith.remui %one_more, %c3 : index
        %next = arith.addi %i, %c1 : index
        scf.yield %next, %next_slot : index, index
      }
      %two_more = arith.addi %left#1, %c2 : index
      %last = arith.remui %two_more, %c3 : index
      memref.store %x, %s[%last, %t] : !slots
      scf.yield %left#1 : index
    }
    gpu.return
  }
}
