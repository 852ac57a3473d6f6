// Workgroup memory that a kernel allocates, as promotion makes it, is shared memory in PTX: no heap, no stack.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm | FileCheck %s --check-prefix=HOST
//
// The simulator sees the same: one buffer for the block.
//
// RUN: async-sim %s --kernel=promoted --block=32 --arg 0=ramp --print | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-allocs-to-globals | async-sim --kernel=promoted --block=32 --arg 0=ramp --print | FileCheck %s --check-prefix=SIM

!Global = memref<64xf32>
!Bytes = memref<256xi8, #gpu.address_space<workgroup>>
!Buffer = memref<32xf32, #gpu.address_space<workgroup>>

// HOST-LABEL: func.func @host
// HOST-NEXT: memref.alloc() : memref<256xi8, #gpu.address_space<workgroup>>
func.func @host() -> !Bytes {
  %a = memref.alloc() : !Bytes
  return %a : !Bytes
}

// CHECK-NOT: malloc
// CHECK-NOT: .local
// CHECK: .shared .align 16 .b8 __wg_promoted_alloc_0[256]
// CHECK-NOT: malloc
// CHECK-NOT: .local
// CHECK: cp.async.ca.shared.global
// CHECK-NOT: malloc
gpu.module @kernels {
  // SIM: promoted: clean
  // SIM: argument 1: 31 30 29 28
  gpu.func @promoted(%src: !Global, %dst: !Global) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c31, %t : index
    scf.for %k = %c0 to %c2 step %c1 {
      %bytes = memref.alloc() : !Bytes
      %tile = memref.view %bytes[%c0][] : !Bytes to !Buffer
      %base = arith.muli %k, %c32 : index
      %i = arith.addi %base, %t : index
      %token = gpux.copy async %src[%i], %tile[%t], 1 : !Global to !Buffer
      async.await %token
      gpu.barrier
      %x = memref.load %tile[%mirror] : !Buffer
      memref.store %x, %dst[%i] : !Global
      gpu.barrier
      memref.dealloc %bytes : !Bytes
    }
    gpu.return
  }
}
