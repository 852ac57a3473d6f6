// RUN: not async-opt run %s --gpux-lower-to-nvvm=chip=sm_80 2>&1 | FileCheck %s

// CHECK: binary.mlir:[[#@LINE+1]]:1: error: the interpreter runs kernels of a gpu.module, and no machine code: leave out the pass that makes this
gpu.module @kernels {
  gpu.func @k() kernel {
    gpu.return
  }
}

func.func @main() {
  return
}
