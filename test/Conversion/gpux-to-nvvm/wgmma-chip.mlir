// Only sm_90a has wgmma: neither what is older nor what is newer.
//
// RUN: not async-opt %s --gpux-to-nvvm=chip=sm_90 2>&1 | FileCheck %s -DCHIP=sm_90
// RUN: not async-opt %s --gpux-to-nvvm=chip=sm_80 2>&1 | FileCheck %s -DCHIP=sm_80
// RUN: not async-opt %s --gpux-to-nvvm=chip=sm_100a 2>&1 | FileCheck %s -DCHIP=sm_100a
// RUN: async-opt %s --gpux-to-nvvm

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @chip {
  // CHECK: error: 'gpux.wgmma' op needs sm_90a, the only GPU that has wgmma, but the chip is [[CHIP]]
  gpu.func @chip() kernel {
    %a = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    gpu.return
  }
}
