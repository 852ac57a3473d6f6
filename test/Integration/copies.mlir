// What a copy can be, down to PTX: sizes, partial counts, strides, dynamic shapes.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin

!Slots = memref<4x64xf32, #gpu.address_space<workgroup>>

gpu.module @copies {
  // CHECK-LABEL: .entry sizes(
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 4;
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 8;
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 16;
  // CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16;
  gpu.func @sizes(%src: memref<?xf32>, %i: index) workgroup(%dst: !Slots) kernel {
    gpux.copy %src[%i], %dst[%i, %i], 1 : memref<?xf32> to !Slots
    gpux.copy %src[%i], %dst[%i, %i], 2 : memref<?xf32> to !Slots
    gpux.copy %src[%i], %dst[%i, %i], 4 : memref<?xf32> to !Slots
    gpux.copy %src[%i], %dst[%i, %i], 4 {bypass_l1} : memref<?xf32> to !Slots
    gpu.return
  }

  // The number of bytes that are read, from a number of elements.
  // CHECK-LABEL: .entry partial(
  // CHECK: ld.param.b32 [[COUNT:%r[0-9]+]], [partial_param_
  // CHECK: shl.b32 [[TIMES_4:%r[0-9]+]], [[COUNT]], 2;
  // CHECK: and.b32 [[BYTES:%r[0-9]+]], [[TIMES_4]],
  // CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16, [[BYTES]];
  gpu.func @partial(%src: memref<?xf32>, %i: index, %count: index) workgroup(%dst: !Slots) kernel {
    gpux.copy %src[%i], %dst[%i, %i], 4, %count {bypass_l1} : memref<?xf32> to !Slots
    gpu.return
  }

  // A column, of a matrix whose rows are as long as the descriptor says.
  // CHECK-LABEL: .entry strided(
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 4;
  gpu.func @strided(%src: memref<?x?xf32, strided<[?, ?], offset: ?>>, %i: index) workgroup(%dst: !Slots) kernel {
    gpux.copy %src[%i, %i], %dst[%i, %i], 1 : memref<?x?xf32, strided<[?, ?], offset: ?>> to !Slots
    gpu.return
  }

  // CHECK-LABEL: .entry through_a_subview(
  // CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16;
  gpu.func @through_a_subview(%src: memref<?x64xf32>, %i: index) workgroup(%dst: !Slots) kernel {
    %c0 = arith.constant 0 : index
    %slot = memref.subview %dst[%i, 0] [1, 64] [1, 1]
        : !Slots to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    gpux.copy %src[%i, %c0], %slot[%c0], 4 {bypass_l1}
        : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    gpu.return
  }
}
