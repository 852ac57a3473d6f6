// An operation that the GPU does not have is refused where it stands.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-to-nvvm=chip=sm_80
// RUN: not async-opt %s --split-input-file --gpux-to-nvvm=chip=none 2>&1 | FileCheck %s
// RUN: async-opt %s --split-input-file --gpux-to-nvvm=chip=sm_90a -o /dev/null
// RUN: async-opt %s --split-input-file --gpux-to-nvvm -o /dev/null

// CHECK: error: chip is 'none', which LLVM does not know

func.func @store(%src: memref<1024xf32, 3>, %dst: memref<1024xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op needs sm_90 or newer, but the chip is sm_80}}
  gpux.bulk_store %src, %dst : memref<1024xf32, 3> to memref<1024xf32>
  return
}

// -----

func.func @commit() {
  // expected-error @+1 {{'gpux.commit_group' op needs sm_90 or newer, but the chip is sm_80}}
  gpux.commit_group <bulk>
  return
}

// -----

func.func @elect() {
  // expected-error @+1 {{'gpux.elect' op needs sm_90 or newer, but the chip is sm_80}}
  %leader = gpux.elect
  return
}

// -----

func.func @as_ever() {
  gpux.commit_group <cp_async>
  return
}
