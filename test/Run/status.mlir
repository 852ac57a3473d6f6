// The status of an entry is no exit code: its error is printed, once, and the exit code is 1.

// RUN: not async-opt run %s --async-lower-to-cpu="on-error=status" 2>&1 | FileCheck %s
// RUN: not async-opt run %s --async-lower-to-cpu="on-error=status" --entry=number 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: async-opt run %s --async-lower-to-cpu="on-error=status" --entry=good

// CHECK: status.mlir:[[#@LINE+5]]:5: error: it fails
// CHECK-NOT: {{.}}
func.func @main() {
  %false = arith.constant false
  %t = async.region {
    cf.assert %false, "it fails"
    async.yield
  }
  async.await %t
  return
}

// NUMBER: status.mlir:[[#@LINE+4]]:3: error: it is wrong
func.func @number() -> i32 {
  %false = arith.constant false
  %three = arith.constant 3 : i32
  cf.assert %false, "it is wrong"
  return %three : i32
}

func.func @good() -> i32 {
  %zero = arith.constant 0 : i32
  %t = async.region {
    async.yield
  }
  async.await %t
  return %zero : i32
}
