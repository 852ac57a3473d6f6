// What a program prints may depend on what another task has done, or printed, by then: a search finds each order.

// RUN: not async-sim %s --entry=main --schedule=exhaustive | FileCheck %s
// RUN: async-sim %s --entry=two_prints --schedule=exhaustive | FileCheck %s --check-prefix=PRINTS

func.func private @printMemrefI32(memref<*xi32>)

// CHECK: error: RAW race: func.call reads what another task writes
// CHECK: main: not clean (2 runs of 2 tasks
func.func @main() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = memref.alloc() : memref<i32>
  memref.store %zero, %m[] : memref<i32>
  %any = memref.cast %m : memref<i32> to memref<*xi32>
  %t = async.region {
    memref.store %one, %m[] : memref<i32>
    async.yield
  }
  call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  async.await %t
  return
}

// PRINTS: two_prints: clean ({{[2-9]}} runs
func.func @two_prints() {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %t = async.region {
    vector.print %one : i32
    async.yield
  }
  vector.print %two : i32
  async.await %t
  return
}
