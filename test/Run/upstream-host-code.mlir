// Upstream's host code is imported before it runs.

// RUN: not async-opt run %s 2>&1 | FileCheck %s
// RUN: async-opt run %s --async-import-gpu

func.func @main() {
  // CHECK: upstream-host-code.mlir:[[#@LINE+2]]:8: error: 'gpu.wait' op is upstream's host code for a device
  // CHECK: upstream-host-code.mlir:[[#@LINE+1]]:8: note: run with --async-import-gpu; what --gpu-to-llvm has lowered is run by mlir-runner
  %s = gpu.wait async
  gpu.wait [%s]
  return
}
