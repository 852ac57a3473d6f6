// Block barriers are for all threads of the block, operations of a warp for all of its threads.
//
// RUN: not async-sim %s --kernel=barrier --block=64 | FileCheck %s --check-prefix=BARRIER
// RUN: not async-sim %s --kernel=shuffle --block=32 | FileCheck %s --check-prefix=SHUFFLE

// BARRIER: error: gpu.barrier: some threads of the block wait at this barrier, and others have ended
// BARRIER: mend it: let all threads of the block reach the same barriers
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
