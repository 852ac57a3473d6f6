// nvvm.shfl.sync: who gets whose number, and whether there is one.
//
// RUN: async-sim %s --kernel=kinds --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=KINDS
// RUN: async-sim %s --kernel=segments --block=32 --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=SEGMENTS
// RUN: async-sim %s --kernel=half_a_warp --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=HALF
// RUN: not async-sim %s --kernel=not_in_mask --block=32 | FileCheck %s --check-prefix=MASK
// RUN: not async-sim %s --kernel=from_outside --block=32 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not async-sim %s --kernel=some_stay_away --block=32 | FileCheck %s --check-prefix=AWAY

// Where there is no such lane, a lane keeps its own number.
// KINDS: kinds: clean
// KINDS: argument 0: 0 1 0 1 2 3 {{.*}} 28 29 2 3 4 5 {{.*}} 30 31 30 31 2 3 0 1 6 7 4 5 {{.*}} 30 31 28 29 5 5 5
func.func @kinds(%out: memref<4x32xi32>) {
  %all = arith.constant -1 : i32
  %two = arith.constant 2 : i32
  %five = arith.constant 5 : i32
  %first = arith.constant 0 : i32
  %last = arith.constant 31 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %up = nvvm.shfl.sync up %all, %x, %two, %first : i32 -> i32
  %down = nvvm.shfl.sync down %all, %x, %two, %last : i32 -> i32
  %bfly = nvvm.shfl.sync bfly %all, %x, %two, %last : i32 -> i32
  %idx = nvvm.shfl.sync idx %all, %x, %five, %last : i32 -> i32
  memref.store %up, %out[%c0, %t] : memref<4x32xi32>
  memref.store %down, %out[%c1, %t] : memref<4x32xi32>
  memref.store %bfly, %out[%c2, %t] : memref<4x32xi32>
  memref.store %idx, %out[%c3, %t] : memref<4x32xi32>
  return
}

// A mask of segments: lanes of 8 are among themselves, and the last ones are told that there is no lane above.
// SEGMENTS: segments: clean
// SEGMENTS: argument 0: 1 2 3 4 5 6 7 7 9 10
// SEGMENTS: argument 1: 1 1 1 1 1 1 1 0 1 1
func.func @segments(%out: memref<32xf32>, %valid: memref<32xi1>) {
  %all = arith.constant -1 : i32
  %one = arith.constant 1 : i32
  %segments = arith.constant 0x181F : i32
  %t = gpu.thread_id x
  %i = arith.index_cast %t : index to i32
  %x = arith.sitofp %i : i32 to f32
  %both = nvvm.shfl.sync down %all, %x, %one, %segments {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  %y = llvm.extractvalue %both[0] : !llvm.struct<(f32, i1)>
  %is_valid = llvm.extractvalue %both[1] : !llvm.struct<(f32, i1)>
  memref.store %y, %out[%t] : memref<32xf32>
  memref.store %is_valid, %valid[%t] : memref<32xi1>
  return
}

// The lanes that the mask names are enough.
// HALF: half_a_warp: clean
// HALF: argument 0: 15 14 13
func.func @half_a_warp(%out: memref<32xi32>) {
  %lower = arith.constant 0xFFFF : i32
  %flip = arith.constant 15 : i32
  %last = arith.constant 31 : i32
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    %y = nvvm.shfl.sync bfly %lower, %x, %flip, %last : i32 -> i32
    memref.store %y, %out[%t] : memref<32xi32>
  }
  return
}

// MASK: error: nvvm.shfl.sync: the thread is not in the mask that it waits with
func.func @not_in_mask() {
  %lower = arith.constant 0xFFFF : i32
  %one = arith.constant 1 : i32
  %last = arith.constant 31 : i32
  %y = nvvm.shfl.sync bfly %lower, %one, %one, %last : i32 -> i32
  return
}

// What is handed over by a lane that takes no part must not be used.
// OUTSIDE: error: arith.addi: an operand holds no value on this path
// OUTSIDE-NEXT: this: thread 0 of block 0
func.func @from_outside() {
  %lower = arith.constant 0xFFFF : i32
  %flip = arith.constant 16 : i32
  %last = arith.constant 31 : i32
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    %y = nvvm.shfl.sync bfly %lower, %flip, %flip, %last : i32 -> i32
    %z = arith.addi %y, %y : i32
  }
  return
}

// AWAY: error: nvvm.shfl.sync: this is an operation of a whole warp, and not all of its threads come to it
func.func @some_stay_away() {
  %all = arith.constant -1 : i32
  %one = arith.constant 1 : i32
  %last = arith.constant 31 : i32
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    %y = nvvm.shfl.sync bfly %all, %one, %one, %last : i32 -> i32
  }
  gpu.barrier
  return
}
