// RUN: not async-opt run %s 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not async-opt run %s --entry=takes 2>&1 | FileCheck %s --check-prefix=TAKES
// RUN: not async-opt run %s --entry=returns 2>&1 | FileCheck %s --check-prefix=RETURNS
// RUN: not async-opt run %s --entry=declared 2>&1 | FileCheck %s --check-prefix=DECLARED

// MAIN: error: there is no function 'main' to call: --entry=NAME calls another one: takes, returns
// TAKES: entry.mlir:[[#@LINE+1]]:1: error: 'takes' can't be called as an entry, being of type (i32) -> ()
func.func @takes(%n: i32) {
  return
}

// RETURNS: entry.mlir:[[#@LINE+1]]:1: error: 'returns' can't be called as an entry, being of type !llvm.func<f32 ()>: that takes no arguments, and returns nothing or an i32, which is the exit code
llvm.func @returns() -> f32 {
  %x = llvm.mlir.constant(1.0 : f32) : f32
  llvm.return %x : f32
}

// DECLARED: error: there is no function 'declared' to call
func.func private @declared()
