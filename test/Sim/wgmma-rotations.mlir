// Accumulators that take turns have the same sums in token form and with the instructions of the hardware, where the loop is unrolled,
// whether all iterations are in the unrolled loop or some are left over.
//
// RUN: async-opt %S/../Integration/wgmma-rotations.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups --gpux-to-nvvm=chip=sm_90a -o %t.mlir
//
// RUN: async-sim %S/../Integration/wgmma-rotations.mlir --kernel=two --arg 0=64x64:random --arg 1=4 --arg 2=64x64:zero --arg 3=64x64:zero --out 2=%t.0.npy --out 3=%t.1.npy | FileCheck %s
// RUN: async-sim %t.mlir --kernel=two --arg 0=64x64:random --arg 1=4 --arg 2=64x64:zero --arg 3=64x64:zero --out 2=%t.2.npy --out 3=%t.3.npy | FileCheck %s
// RUN: cmp %t.0.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy
//
// RUN: async-sim %S/../Integration/wgmma-rotations.mlir --kernel=two --arg 0=64x64:random --arg 1=5 --arg 2=64x64:zero --arg 3=64x64:zero --out 2=%t.0.npy --out 3=%t.1.npy | FileCheck %s
// RUN: async-sim %t.mlir --kernel=two --arg 0=64x64:random --arg 1=5 --arg 2=64x64:zero --arg 3=64x64:zero --out 2=%t.2.npy --out 3=%t.3.npy | FileCheck %s
// RUN: cmp %t.0.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy
//
// RUN: async-sim %S/../Integration/wgmma-rotations.mlir --kernel=three --arg 0=64x64:random --arg 1=5 --arg 2=64x64:zero --arg 3=64x64:zero --arg 4=64x64:zero --out 2=%t.0.npy --out 3=%t.1.npy | FileCheck %s
// RUN: async-sim %t.mlir --kernel=three --arg 0=64x64:random --arg 1=5 --arg 2=64x64:zero --arg 3=64x64:zero --arg 4=64x64:zero --out 2=%t.2.npy --out 3=%t.3.npy | FileCheck %s
// RUN: cmp %t.0.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy

// CHECK: clean
