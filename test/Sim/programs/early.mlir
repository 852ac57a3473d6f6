// Under the early schedule, threads run as hardware mostly runs them, in lockstep, so that a program with races prints what it prints
// there; what is wrong is still reported. Under the late one, a thread may be far ahead.

// RUN: not async-sim %s --schedule=early | FileCheck %s --check-prefixes=CHECK,EARLY
// RUN: not async-sim %s | FileCheck %s --check-prefixes=CHECK,LATE

memref.global "private" @buffer : memref<4xi32, 3>

// EARLY: [3, 2, 1, 0]
// LATE-NOT: [3, 2, 1, 0]
// CHECK: error: RAW race: memref.load reads what another thread wrote, and no block barrier lies between
// CHECK: main: not clean
func.func @main() {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %h = memref.alloc() : memref<4xi32>
  %any = memref.cast %h : memref<4xi32> to memref<*xi32>
  gpu.host_register %any : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c4, %ny = %c1, %nz = %c1) {
    %shared = memref.get_global @buffer : memref<4xi32, 3>
    %i = arith.index_cast %tx : index to i32
    memref.store %i, %shared[%tx] : memref<4xi32, 3>
    %other = arith.subi %c3, %tx : index
    %n = memref.load %shared[%other] : memref<4xi32, 3>
    memref.store %n, %h[%tx] : memref<4xi32>
    gpu.terminator
  }
  call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
