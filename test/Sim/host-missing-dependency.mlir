// A task that uses the value of another one, and does not depend on it.

// RUN: not async-sim %s --kernel=sum 2>&1 | FileCheck %s

func.func @sum(%x: i32, %y: i32) -> i32 {
  %t0, %v0 = async.region -> (i32) {
    %a = arith.muli %x, %x : i32
    async.yield %a : i32
  }
  %t1, %v1 = async.region -> (i32) {
    %a = arith.muli %y, %y : i32
    async.yield %a : i32
  }
  %t2, %v2 = async.region [%t0] -> (i32) {
    // CHECK: host-missing-dependency.mlir:[[#@LINE+1]]:10: error: arith.addi: a value of the async.region
    %s = arith.addi %v0, %v1 : i32
    async.yield %s : i32
  }
  async.await %t2
  return %v2 : i32
}
