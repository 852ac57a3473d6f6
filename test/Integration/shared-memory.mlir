// Shared memory as the assembler sees it.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: async-opt %s --gpux-lower-to-nvvm=format=llvm | FileCheck %s --check-prefix=LLVM

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>
!Bytes = memref<?xi8, #gpu.address_space<workgroup>>

gpu.module @shared_memory {
  // 16 from the copies, and more where the program says so.
  // CHECK-DAG: .shared .align 16 .b8 __wg_kernel_0[256]
  // CHECK-DAG: .shared .align 128 .b8 __wg_kernel_1[256]
  // CHECK-DAG: .shared .align 16 .b8 table[256]
  // Not an internal array of no elements: that would be one byte among the others.
  // CHECK-DAG: .extern .shared .align 16 .b8 __dynamic_shmem__0[]
  // LLVM-DAG: llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 16 : i64
  memref.global "private" @table : !Buffer
  gpu.func @kernel(%src: memref<?xf32>, %dst: memref<?xf32>, %i: index)
      workgroup(%a: !Buffer, %b: !Buffer {llvm.align = 128 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %table = memref.get_global @table : !Buffer
    %bytes = gpu.dynamic_shared_memory : !Bytes
    %c = memref.view %bytes[%c0][] : !Bytes to !Buffer
    gpux.copy %src[%i], %a[%i], 4 : memref<?xf32> to !Buffer
    gpux.copy %src[%i], %b[%i], 4 : memref<?xf32> to !Buffer
    gpux.copy %src[%i], %c[%i], 4 : memref<?xf32> to !Buffer
    gpux.copy %src[%i], %table[%i], 4 : memref<?xf32> to !Buffer
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %x = memref.load %a[%c0] : !Buffer
    %y = memref.load %b[%c0] : !Buffer
    %z = memref.load %c[%c0] : !Buffer
    %w = memref.load %table[%c0] : !Buffer
    %xy = arith.addf %x, %y : f32
    %zw = arith.addf %z, %w : f32
    %sum = arith.addf %xy, %zw : f32
    memref.store %sum, %dst[%i] : memref<?xf32>
    gpu.return
  }

  // LLVM takes four loads from a buffer of unknown alignment together, as if it were aligned: so it is.
  // CHECK-DAG: .shared .align 16 .b8 __wg_no_copy_0[16384]
  gpu.func @no_copy(%a: memref<?xf32>, %i: index)
      workgroup(%b: memref<64x64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%i] : memref<?xf32>
    memref.store %x, %b[%i, %i] : memref<64x64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %v = vector.load %b[%i, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>, vector<8xf32>
    vector.store %v, %a[%i] : memref<?xf32>, vector<8xf32>
    gpu.return
  }
}
