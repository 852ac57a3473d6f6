// RUN: not async-opt run %s 2>&1 | FileCheck %s

// CHECK: not-lowered.mlir:[[#@LINE+3]]:3: error: nothing here lowers 'emitc.verbatim' to the CPU: run a pass before that does
// CHECK-NOT: error:
func.func @main() {
  emitc.verbatim "f();"
  return
}
