// The pass runs on functions, wherever they are, by name or nested.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s --check-prefixes=FUNC,KERNEL
// RUN: async-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(gpux-tokens-to-groups)))' \
// RUN:   | FileCheck %s --check-prefixes=KEPT,KERNEL
// RUN: async-opt %s --pass-pipeline='builtin.module(func.func(gpux-tokens-to-groups))' \
// RUN:   | FileCheck %s --check-prefixes=FUNC,TOKENS
// RUN: async-opt %s --pass-pipeline='builtin.module(func.func(gpux-tokens-to-groups),gpu.module(func.func(gpux-tokens-to-groups),gpu.func(gpux-tokens-to-groups)))' \
// RUN:   | FileCheck %s --check-prefixes=FUNC,KERNEL,HELPER
// RUN: async-opt %s --pass-pipeline='builtin.module(gpux-tokens-to-groups)' | FileCheck %s --check-prefixes=FUNC,KERNEL,HELPER
// RUN: async-opt %s --pass-pipeline='builtin.module(any(gpux-tokens-to-groups))' | FileCheck %s --check-prefixes=FUNC

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// FUNC-LABEL: func.func @function
// FUNC: gpux.commit_group
// FUNC: gpux.wait_group <cp_async>, 0
// KEPT-LABEL: func.func @function
// KEPT: async.await
func.func @function(%src: !src, %dst: !dst, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %a
  return
}

gpu.module @kernels {
  // KERNEL-LABEL: gpu.func @kernel
  // KERNEL: gpux.commit_group
  // KERNEL: gpux.wait_group <cp_async>, 0
  // TOKENS-LABEL: gpu.func @kernel
  // TOKENS: async.await
  gpu.func @kernel(%src: !src, %i: index) workgroup(%dst: memref<64xf32, 3>) kernel {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %a
    gpu.return
  }

  // HELPER-LABEL: func.func @helper
  // HELPER: gpux.wait_group <cp_async>, 0
  func.func @helper(%src: !src, %dst: !dst, %i: index) {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %a
    return
  }
}
