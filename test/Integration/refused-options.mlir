// RUN: not async-opt %s --gpux-lower-to-nvvm=chip=sm_75 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not async-opt %s --gpux-lower-to-nvvm=chip=gfx90a 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not async-opt %s --gpux-lower-to-nvvm=format=ptx 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not async-opt %s --gpux-lower-to-nvvm=opt-level=4 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not async-opt %s --gpux-lower-to-nvvm=toolkit=/nowhere 2>&1 | FileCheck %s --check-prefix=TOOLKIT
// RUN: not async-opt %s --gpux-lower-to-nvvm=unroll-limit=-1 2>&1 | FileCheck %s --check-prefix=UNROLL
// RUN: not async-opt %s --gpux-lower-to-nvvm=features=+ptx999 2>&1 | FileCheck %s --check-prefix=FEATURES

// OLD: error: chip is sm_75, but cp.async needs sm_80 or newer
// UNKNOWN: error: chip is 'gfx90a', which LLVM does not know
// FEATURES: error: features has '+ptx999', which LLVM does not know: a version of PTX, such as +ptx83
// FORMAT: error: format is 'ptx', but must be llvm, isa or bin
// LEVEL: error: opt-level is 4, but must be 0 to 3
// TOOLKIT: error: toolkit is /nowhere, but there is no /nowhere/nvvm/libdevice/libdevice.10.bc
// UNROLL: error: unroll-limit is -1, but must be at least 0
gpu.module @kernels {
  gpu.func @kernel() kernel {
    gpu.return
  }
}
