// What can't be translated is said at the operation.

// RUN: split-file %s %t.dir

// RUN: not async-translate --ptx %t.dir/no-target.mlir 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: no-target.mlir:1:1: error: has no target to translate to: attach one with --nvvm-attach-target

// RUN: not async-translate --ptx %t.dir/nothing.mlir 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: nothing.mlir:{{[0-9]+:[0-9]+}}: error: has no gpu.module or gpu.binary to translate

// RUN: not async-translate --ptx %t.dir/format.mlir 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: format.mlir:1:1: error: holds no PTX: its object is in format 'offload'

// RUN: not async-translate --ptx %t.dir/lower.mlir 2>&1 | FileCheck %s --check-prefix=LOWER
// LOWER: lower.mlir:{{[0-9]+}}:{{[0-9]+}}: error:

// RUN: not async-translate %t.dir/nothing.mlir 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: nothing to translate to: give --ptx

// RUN: not async-translate --ptx %t.dir/two.mlir 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: two.mlir:2:1: error: is one of several: ptxas takes the PTX of one at a time, so choose one with --module=<name>

// RUN: not async-translate --ptx --module=c %t.dir/two.mlir 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: has no gpu.module or gpu.binary named 'c'

// RUN: async-translate --ptx --module=b %t.dir/two.mlir | FileCheck %s --check-prefix=CHOSEN
// CHOSEN-NOT: first
// CHOSEN: second

//--- two.mlir
gpu.binary @a [#gpu.object<#nvvm.target, assembly = "first">]
gpu.binary @b [#gpu.object<#nvvm.target, assembly = "second">]
//--- no-target.mlir
gpu.module @m {
}
//--- nothing.mlir
func.func @f() {
  return
}
//--- format.mlir
gpu.binary @b [#gpu.object<#nvvm.target, offload = "x">]
//--- lower.mlir
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @k() kernel {
    gpu.return
  }
}
