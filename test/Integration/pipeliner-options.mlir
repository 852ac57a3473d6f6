// Options of the pipeliner go through the pipeline. Its default for loops of few iterations is not that of the pass.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="pipeline=true epilogue=predicate short-trips=guard" --dump-pass-pipeline 2>&1 | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm="pipeline=true" --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DEFAULT
// RUN: not async-opt %s --gpux-lower-to-nvvm="pipeline=true short-trips=never" 2>&1 | FileCheck %s --check-prefix=WRONG
//
// CHECK: async-pipeline{{.*}}epilogue=predicate{{.*}}short-trips=guard
// DEFAULT: async-pipeline{{.*}}epilogue=peel{{.*}}short-trips=branch
// WRONG: error: short-trips is 'never', but must be guard or branch

module {}
