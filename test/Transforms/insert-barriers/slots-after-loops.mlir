// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// The slots that a loop leaves off at are not known, but they are told apart.

!slots = memref<3x64xf32, #gpu.address_space<workgroup>>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The store and the load are one slot apart.
  // CHECK-LABEL: gpu.func @next_slot
  // CHECK:         scf.for
  // CHECK:         }
  // CHECK:         gpu.barrier
  // CHECK:         memref.load
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @next_slot(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    memref.store %x, %s[%c0, %t] : !slots
    memref.store %x, %s[%c1, %t] : !slots
    memref.store %x, %s[%c2, %t] : !slots
    %slot = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> index {
      %more = arith.addi %slot, %c1 : index
      %is_end = arith.cmpi eq, %more, %c3 : index
      %next = arith.select %is_end, %c0, %more : index
      scf.yield %next : index
    }
    %more = arith.addi %slot, %c1 : index
    %is_end = arith.cmpi eq, %more, %c3 : index
    %next = arith.select %is_end, %c0, %more : index
    %v = memref.load %s[%slot, %mirrored] : !slots
    memref.store %v, %s[%next, %t] : !slots
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // Three slots on, it is the same slot again.
  // CHECK-LABEL: gpu.func @same_slot
  // CHECK:         scf.for
  // CHECK:         }
  // CHECK:         memref.store
  // CHECK:         gpu.barrier
  // CHECK:         memref.load
  // CHECK:         gpu.return
  gpu.func @same_slot(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%s: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %slot = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> index {
      %more = arith.addi %slot, %c1 : index
      %is_end = arith.cmpi eq, %more, %c3 : index
      %next = arith.select %is_end, %c0, %more : index
      scf.yield %next : index
    }
    memref.store %x, %s[%slot, %t] : !slots
    %more1 = arith.addi %slot, %c1 : index
    %is_end1 = arith.cmpi eq, %more1, %c3 : index
    %slot1 = arith.select %is_end1, %c0, %more1 : index
    %more2 = arith.addi %slot1, %c1 : index
    %is_end2 = arith.cmpi eq, %more2, %c3 : index
    %slot2 = arith.select %is_end2, %c0, %more2 : index
    %more3 = arith.addi %slot2, %c1 : index
    %is_end3 = arith.cmpi eq, %more3, %c3 : index
    %slot3 = arith.select %is_end3, %c0, %more3 : index
    %v = memref.load %s[%slot3, %mirrored] : !slots
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // As often as it runs, nothing comes after this iteration: the loop needs no barrier at its end, whatever the comparison.
  // CHECK-LABEL: gpu.func @unsigned_loop_that_runs_once
  // CHECK:         scf.for unsigned
  // CHECK:           memref.store
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      memref.load
  // CHECK-NOT:       gpu.barrier
  // CHECK:         gpu.return
  gpu.func @unsigned_loop_that_runs_once(%x: f32, %out: memref<64xf32>) workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.for unsigned %i = %c0 to %c1 step %c1 {
      memref.store %x, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      %v = memref.load %s[%mirrored] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // Of buffers that have changed places, it is not known which is which, but they are two.
  // CHECK-LABEL: gpu.func @memrefs_that_changed_places
  // CHECK:         scf.for
  // CHECK:         memref.store
  // CHECK-NEXT:    memref.load
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    memref.load
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @memrefs_that_changed_places(%x: f32, %out: memref<64xf32>, %n: index) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (!row, !row) {
      scf.yield %q, %p : !row, !row
    }
    memref.store %x, %p[%t] : !row
    %v = memref.load %q[%mirrored] : !row
    %w = memref.load %p[%mirrored] : !row
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }

  // After three iterations, it is the other one.
  // CHECK-LABEL: gpu.func @memrefs_that_changed_places_three_times
  // CHECK:         scf.for
  // CHECK:         memref.store %{{.*}}, %{{.*}}#0
  // CHECK-NEXT:    memref.load %[[A:.*]][
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    memref.load
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @memrefs_that_changed_places_three_times(%x: f32, %out: memref<64xf32>) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %p, %q = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b) -> (!row, !row) {
      scf.yield %q, %p : !row, !row
    }
    memref.store %x, %p[%t] : !row
    %v = memref.load %a[%mirrored] : !row
    %w = memref.load %b[%mirrored] : !row
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }

  // Two iterations have slots 0 and 1, and the loop ends at slot 2.
  // CHECK-LABEL: gpu.func @slot_after_two_iterations
  // CHECK:         scf.for
  // CHECK:           memref.store
  // CHECK:         }
  // CHECK-NEXT:    memref.store
  // CHECK-NEXT:    memref.load
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    memref.load
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @slot_after_two_iterations(%x: f32, %out: memref<64xf32>) workgroup(%s: memref<4x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %slot = scf.for %i = %c0 to %c2 step %c1 iter_args(%slot = %c0) -> index {
      memref.store %x, %s[%slot, %t] : memref<4x64xf32, #gpu.address_space<workgroup>>
      %more = arith.addi %slot, %c1 : index
      %next = arith.remui %more, %c3 : index
      scf.yield %next : index
    }
    memref.store %x, %s[%slot, %t] : memref<4x64xf32, #gpu.address_space<workgroup>>
    %v = memref.load %s[%c3, %mirrored] : memref<4x64xf32, #gpu.address_space<workgroup>>
    %w = memref.load %s[%c2, %mirrored] : memref<4x64xf32, #gpu.address_space<workgroup>>
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }
}
