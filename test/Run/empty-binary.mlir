// RUN: not async-opt run %s --async-import-gpu 2>&1 | FileCheck %s

// CHECK: empty-binary.mlir:[[#@LINE+1]]:1: error: the interpreter runs kernels of a gpu.module, and no machine code
gpu.binary @kernels [#gpu.object<#nvvm.target, bin = "">]

func.func @main() {
  return
}
