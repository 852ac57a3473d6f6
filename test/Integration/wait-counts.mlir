// Every count from token form arrives in the PTX and in the machine code.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=SASS

!Global = memref<?xf32>
!Slots = memref<8x128xf32, #gpu.address_space<workgroup>>

gpu.module @wait_counts {
  // CHECK-LABEL: .entry four(
  // CHECK: cp.async.wait_group 3;
  // CHECK: cp.async.wait_group 2;
  // CHECK: cp.async.wait_group 1;
  // CHECK: cp.async.wait_group 0;
  // CHECK-NOT: cp.async.wait_group
  // SASS-LABEL: .text.four:
  // SASS: DEPBAR.LE SB0, 0x3
  // SASS: DEPBAR.LE SB0, 0x2
  // SASS: DEPBAR.LE SB0, 0x1
  // SASS: DEPBAR.LE SB0, 0x0
  gpu.func @four(%src: !Global, %dst: !Global, %n: index) workgroup(%slots: !Slots) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %i = gpu.thread_id x
    %t0 = gpux.copy async %src[%i], %slots[%c0, %i], 1 : !Global to !Slots
    %t1 = gpux.copy async %src[%i], %slots[%c1, %i], 1 : !Global to !Slots
    %t2 = gpux.copy async %src[%i], %slots[%c2, %i], 1 : !Global to !Slots
    %t3 = gpux.copy async %src[%i], %slots[%c3, %i], 1 : !Global to !Slots
    async.await %t0
    %x0 = memref.load %slots[%c0, %i] : !Slots
    memref.store %x0, %dst[%i] : !Global
    async.await %t1
    %x1 = memref.load %slots[%c1, %i] : !Slots
    memref.store %x1, %dst[%i] : !Global
    async.await %t2
    %x2 = memref.load %slots[%c2, %i] : !Slots
    memref.store %x2, %dst[%i] : !Global
    async.await %t3
    %x3 = memref.load %slots[%c3, %i] : !Slots
    memref.store %x3, %dst[%i] : !Global
    gpu.return
  }
}
