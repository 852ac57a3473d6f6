// Of what is in a scope of allocations, upstream makes blocks, of which a scope has one. That of host code is left as it is.
//
// RUN: async-opt %s --gpux-to-nvvm --verify-diagnostics
// RUN: async-opt %s --canonicalize --gpux-lower-to-nvvm=format=llvm | FileCheck %s
//
// CHECK-LABEL: llvm.func @kernel
// CHECK:       llvm.alloca
// CHECK:       llvm.cond_br

gpu.module @scope {
  gpu.func @kernel(%out: memref<16xf32>, %p: i1, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+2 {{'memref.alloca_scope' op has control flow inside, and no lowering to NVVM}}
    // expected-note @+1 {{run --canonicalize first: it moves allocations out of the scope, which then goes}}
    memref.alloca_scope {
      %x = memref.alloca() : memref<4xf32>
      memref.store %v, %x[%c0] : memref<4xf32>
      scf.if %p {
        memref.store %v, %out[%c0] : memref<16xf32>
      }
      %w = memref.load %x[%c0] : memref<4xf32>
      memref.store %w, %out[%c0] : memref<16xf32>
    }
    gpu.return
  }
}

func.func @host(%out: memref<16xf32>, %p: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  memref.alloca_scope {
    scf.if %p {
      memref.store %v, %out[%c0] : memref<16xf32>
    }
  }
  return
}
