// Accesses, and what is said of memrefs, are held against what is there.
//
// RUN: not async-sim %s --kernel=vector_leaves_its_row | FileCheck %s --check-prefix=ROW
// RUN: not async-sim %s --kernel=element_is_a_vector | FileCheck %s --check-prefix=ELEMENT
// RUN: not async-sim %s --kernel=assumed | FileCheck %s --check-prefix=ASSUMED
// RUN: not async-sim %s --kernel=cast --arg 0=4:zero | FileCheck %s --check-prefix=CAST
// RUN: not async-sim %s --kernel=deallocated | FileCheck %s --check-prefix=FREED
// RUN: not async-sim %s --kernel=far_away | FileCheck %s --check-prefix=FAR
// RUN: not async-sim %s --kernel=no_step | FileCheck %s --check-prefix=STEP
// RUN: async-sim %s --kernel=poison_that_nobody_uses | FileCheck %s --check-prefix=POISON
// RUN: not async-sim %s --kernel=too_large 2>&1 | FileCheck %s --check-prefix=LARGE

// ROW: error: vector.load: index 7 is out of bounds: dimension 1 of this view of argument 0 has size 6
func.func @vector_leaves_its_row(%m: memref<4x6xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = vector.load %m[%c0, %c4] : memref<4x6xf32>, vector<4xf32>
  return
}

// ELEMENT: error: memref.load: byte 4 of argument 0 is no multiple of 16, which the access needs
func.func @element_is_a_vector(%m: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = memref.view %m[%c4][] : memref<64xi8> to memref<3xvector<4xf32>>
  %x = memref.load %v[%c0] : memref<3xvector<4xf32>>
  return
}

// ASSUMED: error: memref.assume_alignment: byte 4 of argument 0 is no multiple of 16
func.func @assumed(%m: memref<64xi8>) {
  %c4 = arith.constant 4 : index
  %v = memref.view %m[%c4][] : memref<64xi8> to memref<4xf32>
  %a = memref.assume_alignment %v, 16 : memref<4xf32>
  return
}

// CAST: error: memref.cast: dimension 0 of the memref has size 4, and its type says 16
func.func @cast(%m: memref<?xf32>) {
  %v = memref.cast %m : memref<?xf32> to memref<16xf32>
  return
}

// FREED: error: memref.load: a private buffer was deallocated before
func.func @deallocated() {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  %x = memref.load %m[%c0] : memref<4xf32>
  return
}

// FAR: error: memref.load: index 4611686018427387904 is out of bounds: dimension 0 of this view of argument 0 has size 4
func.func @far_away(%m: memref<4xf32>) {
  %far = arith.constant 4611686018427387904 : index
  %x = memref.load %m[%far] : memref<4xf32>
  return
}

// STEP: error: scf.for: the step of the loop is not positive
func.func @no_step(%step: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %step {
  }
  return
}

// POISON: poison_that_nobody_uses: clean
func.func @poison_that_nobody_uses(%x: i32, %out: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : i32
  %false = arith.constant false
  %poison = arith.shli %x, %c40 : i32
  %y = arith.select %false, %poison, %x : i32
  memref.store %y, %out[%c0] : memref<1xi32>
  return
}

// RUN: not async-sim %s --kernel=slot_runs_over --arg 1=2 | FileCheck %s --check-prefix=SLOT
// SLOT: error: memref.subview: index 4 is out of bounds: dimension 0 of this view of argument 0 has size 4
// SLOT: help: let the access go only where the buffer is
func.func @slot_runs_over(%m: memref<4x8xf32>, %i: index) {
  %v = memref.subview %m[%i, 0] [3, 8] [1, 1] : memref<4x8xf32> to memref<3x8xf32, strided<[8, 1], offset: ?>>
  return
}

// LARGE: async-sim: too_large: a block has at most 1048576 bytes of workgroup memory, and this needs 400000000
func.func @too_large() {
  %m = memref.alloc() : memref<100000000xf32, 3>
  return
}
