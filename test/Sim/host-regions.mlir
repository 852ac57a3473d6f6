// In host code, each region is a task of its own.

// Two regions that race.
//
// RUN: not async-sim %s --kernel=race | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=race --schedule=early | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=race --schedule=exhaustive | FileCheck %s --check-prefix=RACE

// RACE: :[[#@LINE+13]]:5: error: WAW race: memref.store writes what another task writes, and nothing orders the two
// RACE-NEXT: this: task 2 (async.region at {{.*}}host-regions.mlir:[[#@LINE+11]]:8)
// RACE-NEXT: on: argument 0[0]
// RACE-NEXT: against: memref.store at {{.*}}host-regions.mlir:[[#@LINE+6]]:5, task 1
// RACE: help: await the token of the one that is to come first, or make it a dependency of the other
// RACE: race: not clean ({{.*}} of 1 task and
func.func @race(%m: memref<1xi32>, %a: i32, %b: i32) {
  %c0 = arith.constant 0 : index
  %t = async.region {
    memref.store %a, %m[%c0] : memref<1xi32>
    async.yield
  }
  %u = async.region {
    memref.store %b, %m[%c0] : memref<1xi32>
    async.yield
  }
  async.await %t
  async.await %u
  return
}
