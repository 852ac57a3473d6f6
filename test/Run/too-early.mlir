// A value that is used before its token is complete ends the program, at its place. The task can't be complete there: it waits until a number
// changes, which happens later.

// RUN: not --crash async-opt run %s 2>&1 | FileCheck %s
// RUN: not --crash async-opt run %s --entry=in_task 2>&1 | FileCheck %s --check-prefix=TASK

func.func private @wait_for(%flag: memref<i32>) {
  %zero = arith.constant 0 : i32
  scf.while : () -> () {
    %n = memref.atomic_rmw addi %zero, %flag[] : (i32, memref<i32>) -> i32
    %goes_on = arith.cmpi eq, %n, %zero : i32
    scf.condition(%goes_on)
  } do {
    scf.yield
  }
  return
}

func.func private @start(%flag: memref<i32>) -> (!async.token, i32) {
  %five = arith.constant 5 : i32
  %t, %v = async.region -> (i32) {
    func.call @wait_for(%flag) : (memref<i32>) -> ()
    async.yield %five : i32
  }
  return %t, %v : !async.token, i32
}

// CHECK: too-early.mlir:[[#@LINE+8]]:8: error: a value of the task 'start_task0{{.*}}' is used before its token is complete: await the token first, or make it a dependency
// CHECK-NOT: {{Stack dump|panicked}}
func.func @main() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %flag = memref.alloc() : memref<i32>
  memref.store %zero, %flag[] : memref<i32>
  %t, %v = call @start(%flag) : (memref<i32>) -> (!async.token, i32)
  %w = arith.addi %v, %one : i32
  memref.store %w, %flag[] : memref<i32>
  async.await %t
  return
}

// TASK: too-early.mlir:[[#@LINE+8]]:10: error: a value of the task 'start_task0{{.*}}' is used before its token is complete
func.func @in_task() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %flag = memref.alloc() : memref<i32>
  memref.store %zero, %flag[] : memref<i32>
  %t, %v = call @start(%flag) : (memref<i32>) -> (!async.token, i32)
  %u = async.region {
    %w = arith.addi %v, %one : i32
    memref.store %w, %flag[] : memref<i32>
    async.yield
  }
  async.await %u, %t
  return
}
