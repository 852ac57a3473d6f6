// PTX comes from a module with a target, or from the binary that --gpu-module-to-binary made of it.

// RUN: async-translate --ptx %s -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: async-opt %s --gpu-module-to-binary=format=isa | async-translate --ptx | FileCheck %s
// RUN: ptxas --gpu-name sm_80 %t.ptx -o %t.cubin

// CHECK: .target sm_80
// CHECK: .visible .entry store_one(

gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  llvm.func @store_one(%p: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    llvm.store %one, %p : i32, !llvm.ptr
    llvm.return
  }
}
