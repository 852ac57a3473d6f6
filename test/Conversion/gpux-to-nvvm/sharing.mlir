// Operations that only one operand of a copy matters to are made once, after its definition.
//
// RUN: async-opt %s --gpux-to-nvvm | FileCheck %s

!Global = memref<128xf32, 1>
!Shared = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @loop
// CHECK-SAME: %[[SRC:[a-z0-9]*]]: memref<128xf32, 1>, %[[N:[a-z0-9]*]]: index
// CHECK-SAME: workgroup(%[[DST:[a-z0-9]*]] :
gpu.module @kernels {
  gpu.func @loop(%src: !Global, %n: index) workgroup(%dst: !Shared) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK-DAG: builtin.unrealized_conversion_cast %[[DST]] : memref<128xf32, #gpu.address_space<workgroup>> to !llvm.struct
    // CHECK-DAG: builtin.unrealized_conversion_cast %[[SRC]] : memref<128xf32, 1> to !llvm.struct
    // CHECK: scf.for %[[I:[a-z0-9]*]] =
    // CHECK-NOT: !llvm.struct
    // CHECK: builtin.unrealized_conversion_cast %[[I]] : index to i64
    // CHECK: nvvm.cp.async.shared.global
    // CHECK-NOT: builtin.unrealized_conversion_cast
    // CHECK: nvvm.cp.async.shared.global
    // CHECK: gpu.return
    scf.for %i = %c0 to %n step %c1 {
      gpux.copy %src[%i], %dst[%i], 4 : !Global to !Shared
      gpux.copy %src[%i], %dst[%i], 4 : !Global to !Shared
    }
    gpu.return
  }
}

// A value that is defined in a loop has its share there, also for the branches inside.
// CHECK-LABEL: gpu.module @branches
gpu.module @branches {
  gpu.func @branches(%src: memref<8x128xf32, 1>, %n: index, %p: i1) workgroup(%dst: !Shared) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // The stride, for the whole function.
    // CHECK: %[[STRIDE:.*]] = llvm.mlir.constant(128 : index) : i64
    // CHECK: scf.for %[[I:[a-z0-9]*]] =
    scf.for %i = %c0 to %n step %c1 {
      // CHECK: %[[WIDE:.*]] = builtin.unrealized_conversion_cast %[[I]] : index to i64
      // CHECK: %[[ROW:.*]] = llvm.mul %[[WIDE]], %[[STRIDE]] : i64
      // CHECK: scf.if
      scf.if %p {
        // CHECK: llvm.add %[[ROW]],
        // CHECK: nvvm.cp.async.shared.global
        gpux.copy %src[%i, %c0], %dst[%c0], 4 : memref<8x128xf32, 1> to !Shared
      } else {
        // CHECK: } else {
        // CHECK: llvm.add %[[ROW]],
        // CHECK: nvvm.cp.async.shared.global
        gpux.copy %src[%i, %n], %dst[%c0], 4 : memref<8x128xf32, 1> to !Shared
      }
    }
    gpu.return
  }
}

// Not across the boundary of a kernel that is still to be outlined: it would get descriptors as arguments.
// CHECK-LABEL: func.func @launch
func.func @launch(%src: !Global, %one: index) {
  // CHECK-NOT: !llvm.struct
  // CHECK: gpu.launch
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one)
             threads(%tx, %ty, %tz) in (%sx = %one, %sy = %one, %sz = %one)
             workgroup(%dst: !Shared) {
    // CHECK: builtin.unrealized_conversion_cast %{{.*}} : memref<128xf32, 1> to !llvm.struct
    // CHECK: nvvm.cp.async.shared.global
    gpux.copy %src[%tx], %dst[%tx], 4 : !Global to !Shared
    gpu.terminator
  }
  return
}
