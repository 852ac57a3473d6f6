// What the simulated device can't run is an error where it stands. (The second error of each is upstream's.)

// RUN: async-opt %s --split-input-file --gpu-module-to-binary --verify-diagnostics

// expected-error @+1 {{An error happened while serializing the module.}}
gpu.module @unknown_operation [#gpux.sim_target] {
  gpu.func @k(%x: memref<4xi32>, %value: i32) kernel {
    // expected-error @+1 {{the interpreter does not know 'linalg.fill': lower it to loops or vectors, as --convert-linalg-to-loops does}}
    linalg.fill ins(%value : i32) outs(%x : memref<4xi32>)
    gpu.return
  }
}

// -----

// After `--convert-gpu-to-nvvm`, nobody knows what is where.
// expected-error @+1 {{An error happened while serializing the module.}}
gpu.module @pointers [#gpux.sim_target] {
  // expected-error @+1 {{a parameter of type !llvm.ptr can't be made up}}
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel} {
    %value = llvm.load %x : !llvm.ptr -> i32
    llvm.return
  }
}
