// There is no text of it.

// RUN: async-opt %s --gpu-module-to-binary=format=isa --verify-diagnostics

// expected-error @+2 {{'gpu.module' op can't be made code for the simulated device as 'assembly': say format=bin, or nothing}}
// expected-error @+1 {{An error happened while serializing the module.}}
gpu.module @kernels [#gpux.sim_target] {
}
