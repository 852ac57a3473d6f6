// RUN: not async-opt run %s 2>&1 | FileCheck %s

// What is declared and not used is nobody's business.
llvm.func @unused()

// CHECK-NOT: unused
// CHECK: error: 'no_number' is neither in the module
// CHECK: unknown-symbol.mlir:[[#@LINE+9]]:8: error: 'nowhere' is neither in the module, nor in the runtime, nor in a library of --shared-libs
// CHECK: unknown-symbol.mlir:[[#@LINE+4]]:1: note: it is declared here
// CHECK-NOT: error:

llvm.mlir.global external @no_number() : i32
llvm.func @nowhere(i32) -> i32

llvm.func @main() {
  %n = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.call @nowhere(%n) : (i32) -> i32
  %1 = llvm.call @nowhere(%n) : (i32) -> i32
  %2 = llvm.mlir.addressof @no_number : !llvm.ptr
  %3 = llvm.load %2 : !llvm.ptr -> i32
  %4 = llvm.call @nowhere(%3) : (i32) -> i32
  llvm.return
}
