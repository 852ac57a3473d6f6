// A copy reads as many elements as an operand says, and none from anywhere if that is 0.
//
// RUN: async-sim %s --kernel=past_the_end --arg 0=ramp --print | FileCheck %s --check-prefix=END
// RUN: async-opt %s --gpux-allocs-to-globals --gpux-to-nvvm | async-sim --kernel=past_the_end --arg 0=ramp --print | FileCheck %s --check-prefix=END
// RUN: not async-sim %s --kernel=any --arg 1=5 | FileCheck %s --check-prefix=MORE
// RUN: not async-sim %s --kernel=any --arg 1=-1 | FileCheck %s --check-prefix=LESS

!global = memref<10xf32>
!shared = memref<16xf32, #gpu.address_space<workgroup>>

// END: past_the_end: clean (1 run of 1 block of 4 threads
// END: argument 1: 0 1 2 3 4 5 6 7 8 9 0 0 0 0 0 0
func.func @past_the_end(%src: !global, %out: memref<16xf32>)
    attributes {gpu.known_block_size = array<i32: 4, 1, 1>} {
  %dst = memref.alloc() : !shared
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  %t = gpu.thread_id x
  %i = arith.muli %t, %c4 : index
  // Elements left of these four: 4, 4, 2 and 0.
  %left = arith.subi %c10, %i : index
  %some = arith.maxsi %left, %c0 : index
  %n = arith.minsi %some, %c4 : index
  gpux.copy %src[%i], %dst[%i], 4, %n : !global to !shared
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  %v = vector.load %dst[%i] : !shared, vector<4xf32>
  vector.store %v, %out[%i] : memref<16xf32>, vector<4xf32>
  return
}

// MORE: error: gpux.copy: is to read 5 of the 4 that it writes; 0 to 4 can be
// LESS: error: gpux.copy: is to read -1 of the 4 that it writes; 0 to 4 can be
func.func @any(%src: !global, %n: index) {
  %dst = memref.alloc() : !shared
  %c0 = arith.constant 0 : index
  gpux.copy %src[%c0], %dst[%c0], 4, %n : !global to !shared
  return
}
