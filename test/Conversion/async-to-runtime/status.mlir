// With on-error=status, what may fail returns a status after its results.

// RUN: async-opt %s --async-outline --async-to-runtime=on-error=status | FileCheck %s

// CHECK-LABEL: func.func @waits
// CHECK-SAME: -> (i32, i32)
// CHECK: %[[STATE:[a-z0-9]+]] = call @asyncopt_rt_await
// CHECK: cf.cond_br %{{.+}}, ^[[BAD:bb[0-9]+]], ^[[GOOD:bb[0-9]+]]
// CHECK: ^[[BAD]]:
// CHECK-NEXT: call @asyncopt_rt_note_error_of(%[[T:[a-z0-9]+]])
// CHECK-NEXT: call @asyncopt_rt_release(%[[T]])
// CHECK: %[[ONE:[a-z0-9]+]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT: return %{{.+}}, %[[ONE]] : i32, i32
// CHECK: ^[[GOOD]]:
// CHECK: %[[ZERO:[a-z0-9]+]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT: return %{{.+}}, %[[ZERO]] : i32, i32
func.func @waits(%x: i32) -> i32 {
  %t, %v = async.region -> (i32) {
    async.yield %x : i32
  }
  async.await %t
  return %v : i32
}

// A caller returns it, too.
// CHECK-LABEL: func.func @calls
// CHECK-SAME: -> i32
// CHECK: %[[R:[a-z0-9]+]]:2 = call @waits
// CHECK: arith.cmpi eq, %[[R]]#1
func.func @calls(%x: i32) {
  %v = call @waits(%x) : (i32) -> i32
  return
}

// What can't fail stays as it is.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: -> i32 {
// CHECK-NEXT: return
func.func @plain(%x: i32) -> i32 {
  return %x : i32
}
