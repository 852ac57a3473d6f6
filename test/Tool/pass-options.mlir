// What is wrong with a pass option is said, and nothing runs.

// RUN: not async-opt %s --gpux-tokens-to-groups=nonsense=1 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: no such option nonsense

// RUN: not async-opt %s --gpux-tokens-to-groups=unroll-limit=many 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: 'many' value invalid

// RUN: not async-opt %s --pass-pipeline='builtin.module(gpux-nonsense)' 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: 'gpux-nonsense' does not refer to a registered pass

// Values survive in what is printed to reproduce a run.
// RUN: async-opt %s --gpux-tokens-to-groups='balance=false unroll-limit=3' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DUMP
// DUMP: gpux-tokens-to-groups{balance=false{{.*}}unroll-limit=3{{.*}}}

// RUN: async-opt %s --pass-pipeline='builtin.module(func.func(gpux-tokens-to-groups))' --mlir-timing --mlir-print-ir-after=gpux-tokens-to-groups 2>&1 | FileCheck %s --check-prefix=TOOLS
// TOOLS: IR Dump After gpux-tokens-to-groups (gpux-tokens-to-groups)
// TOOLS: Execution time report
// TOOLS: gpux-tokens-to-groups

func.func @f() {
  return
}
