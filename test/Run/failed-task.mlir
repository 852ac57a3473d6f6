// RUN: not --crash async-opt run %s 2>&1 | FileCheck %s
// RUN: async-opt run %s --entry=leaks 2>&1 | FileCheck %s --check-prefix=LEAKS

// A task that fails ends the program where it is awaited, with its place and message and nothing else.
// CHECK: before
// CHECK-NEXT: program.c:3:5: error: a negative number
// CHECK-NEXT: program.c:9:1: note: awaited here
// CHECK-NOT: {{Stack dump|PLEASE submit|#0}}

// LEAKS: asyncopt_rt: alive at the end: 1 tokens, 0 tasks, 0 bytes of frames, 0 suspended coroutines, 0 device allocations; 1 errors that nobody awaited
// LEAKS-NEXT: asyncopt_rt: the first of these: program.c:3:5: error: a negative number
// LEAKS-NOT: alive at the end

llvm.func @asyncopt_rt_create(!llvm.ptr) -> !llvm.ptr
llvm.func @asyncopt_rt_submit(!llvm.ptr)
llvm.func @asyncopt_rt_fail(!llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @asyncopt_rt_release(!llvm.ptr)
llvm.func @asyncopt_rt_await_or_abort(!llvm.ptr, !llvm.ptr)
llvm.func @printString(!llvm.ptr)

llvm.mlir.global internal constant @before("before\0A\00")
llvm.mlir.global internal constant @place("program.c:3:5\00")
llvm.mlir.global internal constant @awaited("program.c:9:1\00")
llvm.mlir.global internal constant @message("a negative number\00")

llvm.func internal @body(%self: !llvm.ptr, %frame: !llvm.ptr) -> i32 {
  %done = llvm.mlir.constant(0 : i32) : i32
  %place = llvm.mlir.addressof @place : !llvm.ptr
  %message = llvm.mlir.addressof @message : !llvm.ptr
  llvm.call @asyncopt_rt_fail(%self, %place, %message) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return %done : i32
}

llvm.mlir.global internal constant @type() : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)> {
  %0 = llvm.mlir.zero : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %run = llvm.mlir.addressof @body : !llvm.ptr
  %one = llvm.mlir.constant(1 : i64) : i64
  %1 = llvm.insertvalue %run, %0[0] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  %2 = llvm.insertvalue %one, %1[4] : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
  llvm.return %2 : !llvm.struct<(ptr, ptr, ptr, i64, i64, ptr)>
}

llvm.func internal @start() -> !llvm.ptr {
  %type = llvm.mlir.addressof @type : !llvm.ptr
  %t = llvm.call @asyncopt_rt_create(%type) : (!llvm.ptr) -> !llvm.ptr
  llvm.call @asyncopt_rt_submit(%t) : (!llvm.ptr) -> ()
  llvm.return %t : !llvm.ptr
}

llvm.func @main() {
  %before = llvm.mlir.addressof @before : !llvm.ptr
  %awaited = llvm.mlir.addressof @awaited : !llvm.ptr
  llvm.call @printString(%before) : (!llvm.ptr) -> ()
  %t = llvm.call @start() : () -> !llvm.ptr
  llvm.call @asyncopt_rt_await_or_abort(%t, %awaited) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @asyncopt_rt_release(%t) : (!llvm.ptr) -> ()
  llvm.return
}

// One token is never released; another is, and nobody has seen that it failed.
llvm.func @leaks() {
  %kept = llvm.call @start() : () -> !llvm.ptr
  %t = llvm.call @start() : () -> !llvm.ptr
  llvm.call @asyncopt_rt_release(%t) : (!llvm.ptr) -> ()
  llvm.return
}
