// An error in a task travels with its token: the await of a task that depends on it prints the first error.

// RUN: not --crash async-opt run %s 2>&1 | FileCheck %s

// CHECK: error.mlir:[[#@LINE+7]]:5: error: there is nothing to divide by
// CHECK-NEXT: error.mlir:[[#@LINE+14]]:3: note: awaited here

func.func private @divide(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %t, %v = async.region -> (i64) {
    %good = arith.cmpi ne, %y, %zero : i64
    cf.assert %good, "there is nothing to divide by"
    %q = arith.divsi %x, %y : i64
    async.yield %q : i64
  }
  %u, %w = async.region [%t] -> (i64) {
    %d = arith.addi %v, %v : i64
    async.yield %d : i64
  }
  async.await %u
  return %w : i64
}

func.func @main() {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r = call @divide(%one, %zero) : (i64, i64) -> i64
  return
}
