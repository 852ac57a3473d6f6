// Errors travel with tokens.

// RUN: async-opt %s --async-outline --async-to-runtime --split-input-file | FileCheck %s

// A failing assertion ends the task, which fails; what it holds is released.
// CHECK: llvm.func internal @asserts_task0(%[[SELF:[a-z0-9]+]]: !llvm.ptr,
// CHECK: cf.cond_br %{{.+}}, ^[[GOOD:bb[0-9]+]], ^[[BAD:bb[0-9]+]]
// CHECK: ^[[BAD]]:
// CHECK-NEXT: %[[PLACE:[a-z0-9]+]] = llvm.mlir.addressof
// CHECK-NEXT: %[[TEXT:[a-z0-9]+]] = llvm.mlir.addressof
// CHECK-NEXT: func.call @asyncopt_rt_fail(%[[SELF]], %[[PLACE]], %[[TEXT]])
// CHECK-NEXT: llvm.mlir.constant(0 : i32)
// CHECK-NEXT: llvm.return
func.func @asserts(%c: i1) -> !async.token {
  %t = async.region {
    cf.assert %c, "is false"
    async.yield
  }
  return %t : !async.token
}

// -----

// A function that a task calls has a copy, which tells whether it has failed.
// CHECK: func.func private @positive_in_task(%{{.+}}: i32, %[[SELF:[a-z0-9]+]]: !llvm.ptr) -> i32 {
// CHECK: call @asyncopt_rt_fail(%[[SELF]],
// CHECK: llvm.func internal @calls_task0(%[[SELF:[a-z0-9]+]]: !llvm.ptr,
// CHECK: %[[STATUS:[a-z0-9]+]] = func.call @positive_in_task(%{{.+}}, %[[SELF]])
// CHECK: arith.cmpi eq, %[[STATUS]]
// CHECK: cf.cond_br
func.func private @positive(%x: i32) {
  %zero = arith.constant 0 : i32
  %good = arith.cmpi sgt, %x, %zero : i32
  cf.assert %good, "is not positive"
  return
}
func.func @calls(%x: i32) -> !async.token {
  %t = async.region {
    func.call @positive(%x) : (i32) -> ()
    async.yield
  }
  return %t : !async.token
}

// -----

// Outside of tasks, it aborts.
// CHECK-LABEL: func.func @aborts
// CHECK: call @asyncopt_rt_abort(
// CHECK-NEXT: llvm.unreachable
func.func @aborts(%c: i1) {
  cf.assert %c, "is false"
  return
}
