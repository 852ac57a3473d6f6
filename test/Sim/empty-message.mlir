// An assertion may have nothing to say.
//
// RUN: not async-sim %s | FileCheck %s
// RUN: async-opt %s --convert-scf-to-cf | FileCheck %s --check-prefix=KEPT

// KEPT: cf.assert %{{.*}}, ""
gpu.module @m {
  // CHECK: error: {{.*}}assertion
  gpu.func @k() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %false = arith.constant false
    cf.assert %false, ""
    gpu.return
  }
}
