// Block barriers are for all threads of the block, operations of a warp for all of its threads.
//
// RUN: not async-sim %s --kernel=barrier --block=64 | FileCheck %s --check-prefix=BARRIER
// RUN: not async-sim %s --kernel=shuffle --block=32 | FileCheck %s --check-prefix=SHUFFLE

// BARRIER: error: gpu.barrier: some threads of the block wait at this barrier, and others have ended
// BARRIER: help: let all threads of the block reach the same barriers
func.func @barrier() {
  %c32 = arith.constant 32 : index
  %t = gpu.thread_id x
  %c = arith.cmpi ult, %t, %c32 : index
  scf.if %c {
    gpu.barrier
  }
  return
}

// SHUFFLE: error: gpu.shuffle: this is an operation of a whole warp, and not all of its threads come to it
// SHUFFLE: against: gpu.barrier
func.func @shuffle(%x: f32) {
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  %t = gpu.thread_id x
  %c = arith.cmpi ult, %t, %c16 : index
  scf.if %c {
    %y, %valid = gpu.shuffle xor %x, %one, %width : f32
  }
  gpu.barrier
  return
}

// Threads may go round a loop as often as they like, if they come to the barrier after it.
//
// RUN: async-sim %s --kernel=uneven_loops --block=4 | FileCheck %s --check-prefix=UNEVEN
// RUN: not async-sim %s --kernel=skipped_once --block=2 | FileCheck %s --check-prefix=SKIPPED
// UNEVEN: uneven_loops: clean
func.func @uneven_loops() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %t step %c1 {
    }
    gpu.barrier
  }
  return
}

// SKIPPED: error: gpu.barrier: some threads of the block wait at this barrier, and others there in another iteration
func.func @skipped_once() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %t = gpu.thread_id x
  scf.for %i = %c0 to %c3 step %c1 {
    %comes = arith.cmpi ne, %i, %t : index
    scf.if %comes {
      gpu.barrier
    }
  }
  return
}
