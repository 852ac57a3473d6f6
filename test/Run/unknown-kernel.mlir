// RUN: not async-opt run %s 2>&1 | FileCheck %s

// The interpreter says before anything is run what it does not know.

gpu.module @kernels {
  gpu.func @k() kernel {
    // CHECK: unknown-kernel.mlir:[[#@LINE+1]]:10: error: the interpreter knows no clusters
    %c = gpu.cluster_id x
    gpu.return
  }
}

func.func @main() {
  return
}
