// Kernels are for the simulated device.

// RUN: async-opt %s --gpux-attach-sim-target | FileCheck %s
// RUN: async-opt %s --gpux-attach-sim-target --gpux-attach-sim-target | FileCheck %s

// Also those that `--gpu-kernel-outlining` makes of launches, which name no targets.
// CHECK: gpu.module @no_target [#gpux.sim_target] {
gpu.module @no_target {
  gpu.func @k(%x: memref<4xi32>, %value: i32) kernel {
    %i = gpu.thread_id x
    memref.store %value, %x[%i] : memref<4xi32>
    gpu.return
  }
}

// It comes first: that is the one that upstream's host code loads.
// CHECK: gpu.module @other_target [#gpux.sim_target, #nvvm.target<chip = "sm_90">] {
gpu.module @other_target [#nvvm.target<chip = "sm_90">] {
}
