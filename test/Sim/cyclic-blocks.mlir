// Blocks of a cycle have no number of an iteration: a copy that goes to the same place each time is told by what was issued before, not as one
// whose parts overlap.
//
// RUN: not async-sim %s 2>&1 | FileCheck %s
//
// CHECK:      error: WAW race: gpux.copy
// CHECK-NOT:  matrices
// CHECK:      k: not clean

gpu.module @m {
  gpu.func @k(%src: memref<16xf32>) workgroup(%dst: memref<16xf32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    cf.br ^bb1(%c0 : index)
  ^bb1(%i: index):
    %token = gpux.copy async %src[%c0], %dst[%c1], 1 : memref<16xf32> to memref<16xf32, 3>
    %next = arith.addi %i, %c1 : index
    %again = arith.cmpi ult, %next, %c2 : index
    cf.cond_br %again, ^bb1(%next : index), ^bb2
  ^bb2:
    gpu.return
  }
}
