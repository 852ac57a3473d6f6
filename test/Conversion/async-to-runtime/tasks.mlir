// Regions become tasks of the runtime.

// RUN: async-opt %s --async-outline --convert-scf-to-cf --async-to-runtime | FileCheck %s
// RUN: async-opt %s --async-outline --convert-scf-to-cf --async-to-runtime | FileCheck %s --check-prefix=TASK

// A task that depends on the token of a value knows that the value is there; otherwise the runtime checks it.
// TASK: llvm.func internal @loop_task0(
// TASK: call @asyncopt_rt_expect_complete(
// TASK: llvm.return
// TASK: llvm.func internal @chain_task1(
// TASK-NOT: expect_complete
// TASK: llvm.return

// A task takes what it captures in its frame, and leaves its values there. Each token is released after its last use.
// CHECK-LABEL: func.func @chain
// CHECK: %[[TY0:[a-z0-9]+]] = llvm.mlir.addressof @chain_task0_type
// CHECK: %[[T:[a-z0-9]+]] = call @asyncopt_rt_create(%[[TY0]])
// CHECK: %[[F:[a-z0-9]+]] = call @asyncopt_rt_frame(%[[T]])
// CHECK: llvm.store %{{.+}}, %{{.+}} : i32, !llvm.ptr
// CHECK: call @asyncopt_rt_submit(%[[T]])
// CHECK: %[[U:[a-z0-9]+]] = call @asyncopt_rt_create
// CHECK: call @asyncopt_rt_retain(%[[T]])
// CHECK: llvm.store %[[T]], %{{.+}} : !llvm.ptr, !llvm.ptr
// CHECK: call @asyncopt_rt_depend(%[[U]], %[[T]])
// CHECK-NEXT: call @asyncopt_rt_release(%[[T]])
// CHECK-NEXT: call @asyncopt_rt_submit(%[[U]])
// CHECK: call @asyncopt_rt_await_or_abort(%[[U]], %{{.+}})
// CHECK-NEXT: %[[R:[a-z0-9]+]] = llvm.load %{{.+}} : !llvm.ptr -> i32
// CHECK-NEXT: call @asyncopt_rt_release(%[[U]])
// CHECK-NEXT: return %[[R]]
func.func @chain(%x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %t, %v = async.region -> (i32) {
    %y = arith.addi %x, %one : i32
    async.yield %y : i32
  }
  %u, %w = async.region [%t] -> (i32) {
    %y = arith.addi %v, %one : i32
    async.yield %y : i32
  }
  async.await %u
  return %w : i32
}

// A token that a loop carries, with the value that it will bring: the address of that goes with it.
// CHECK-LABEL: func.func @loop
// CHECK: call @asyncopt_rt_create
// CHECK: cf.br ^[[HEAD:bb[0-9]+]](%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : index, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK: ^[[HEAD]](%{{.+}}: index, %[[T:[a-z0-9]+]]: !llvm.ptr, %[[OWNER:[a-z0-9]+]]: !llvm.ptr, %[[PLACE:[a-z0-9]+]]: !llvm.ptr):
// CHECK: call @asyncopt_rt_await_or_abort(%[[T]],
// CHECK: call @asyncopt_rt_expect_complete(%[[OWNER]],
// CHECK-NEXT: llvm.load %[[PLACE]] : !llvm.ptr -> i32
// CHECK-NEXT: call @asyncopt_rt_release(%[[OWNER]])
func.func @loop(%n: index, %x: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %t, %v = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready, %v = %x) -> (!async.token, i32) {
    %u, %w = async.region [%t] -> (i32) {
      %y = arith.addi %v, %v : i32
      async.yield %y : i32
    }
    scf.yield %u, %w : !async.token, i32
  }
  async.await %t
  return %v : i32
}

// A token that is used on one way only is released on the other.
// CHECK-LABEL: func.func @branch
// CHECK: %[[T:[a-z0-9]+]] = call @asyncopt_rt_create
// CHECK: cf.cond_br %{{.+}}, ^[[YES:bb[0-9]+]], ^[[NO:bb[0-9]+]]
// CHECK: ^[[YES]]:
// CHECK: call @asyncopt_rt_await_or_abort(%[[T]],
// CHECK-NEXT: call @asyncopt_rt_release(%[[T]])
// CHECK: ^[[NO]]:
// CHECK-NEXT: call @asyncopt_rt_release(%[[T]])
func.func @branch(%c: i1) {
  %t = async.region {
    async.yield
  }
  cf.cond_br %c, ^yes, ^no
^yes:
  async.await %t
  return
^no:
  return
}

// A task that awaits in a loop is a coroutine; so is a copy of the function that it calls and that awaits something.
// CHECK-LABEL: func.func @host
// CHECK: call @asyncopt_rt_await_or_abort
// CHECK-LABEL: func.func private @waits
// CHECK: call @asyncopt_rt_await_or_abort
// CHECK: llvm.func internal @host_task0{{.*}} attributes {passthrough = ["presplitcoroutine"]}
// CHECK: llvm.intr.coro.begin
// CHECK: llvm.mlir.addressof @waits_coroutine_type
// CHECK: func.call @asyncopt_rt_resume_after
// CHECK: llvm.intr.coro.suspend
// CHECK: func.call @asyncopt_rt_complete
// CHECK: llvm.intr.coro.end
// CHECK: llvm.func internal @waits_coroutine{{.*}} attributes {passthrough = ["presplitcoroutine"]}
func.func @host(%u: !async.token) {
  %t = async.region {
    func.call @waits(%u) : (!async.token) -> ()
    async.yield
  }
  async.await %t
  return
}
func.func private @waits(%t: !async.token) {
  async.await %t
  return
}
