// A buffer that a copy writes is aligned to 16 bytes, whatever the copy is seen through.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm | FileCheck %s

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @attributions {
  // Only what copies write is touched, and what is aligned to more stays.
  // CHECK-LABEL: gpu.func @kernel
  // CHECK-SAME: workgroup(%{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64},
  // CHECK-SAME: %{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>>,
  // CHECK-SAME: %{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64}
  // CHECK-SAME: %{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64, my.mark}
  gpu.func @kernel(%src: !Global, %i: index)
      workgroup(%written: !Buffer, %other: !Buffer, %larger: !Buffer {llvm.align = 128 : i64},
                %smaller: !Buffer {llvm.align = 4 : i64, my.mark}) kernel {
    gpux.copy %src[%i], %written[%i], 1 : !Global to !Buffer
    gpux.copy %src[%i], %larger[%i], 4 : !Global to !Buffer
    gpux.copy %src[%i], %smaller[%i], 4 : !Global to !Buffer
    gpu.return
  }
}

// -----

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @globals {
  // CHECK: memref.global "private" @written : memref<64xf32, #gpu.address_space<workgroup>> {alignment = 16 : i64}
  memref.global "private" @written : !Buffer
  // CHECK: memref.global "private" @larger : memref<64xf32, #gpu.address_space<workgroup>> {alignment = 32 : i64}
  memref.global "private" @larger : !Buffer {alignment = 32 : i64}
  // CHECK: memref.global "private" @other : memref<64xf32, #gpu.address_space<workgroup>>{{$}}
  memref.global "private" @other : !Buffer
  gpu.func @uses_globals(%src: !Global, %i: index) kernel {
    %written = memref.get_global @written : !Buffer
    %larger = memref.get_global @larger : !Buffer
    %other = memref.get_global @other : !Buffer
    gpux.copy %src[%i], %written[%i], 4 : !Global to !Buffer
    gpux.copy %src[%i], %larger[%i], 4 : !Global to !Buffer
    gpu.return
  }
}

// -----

!Global = memref<?xf32>
!Bytes = memref<4096xi8, #gpu.address_space<workgroup>>
!Slots = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @views {
  // CHECK-LABEL: gpu.func @looks_through_views
  // CHECK-SAME: workgroup(%{{[a-z0-9]*}} : memref<4096xi8, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
  gpu.func @looks_through_views(%src: !Global, %i: index, %shift: index) workgroup(%bytes: !Bytes) kernel {
    %slots = memref.view %bytes[%shift][] : !Bytes to !Slots
    %slot = memref.subview %slots[%i, 0] [1, 64] [1, 1]
        : !Slots to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %rows = memref.expand_shape %slot [[0, 1]] output_shape [8, 8]
        : memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
        into memref<8x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>
    %cast = memref.cast %rows : memref<8x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>
        to memref<?x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>
    gpux.copy %src[%i], %cast[%i, %i], 1
        : !Global to memref<?x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @carried {
  // Which of the two the loop carries can't be told: both may be.
  // CHECK-LABEL: gpu.func @swapped
  // CHECK-SAME: workgroup(%{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64},
  // CHECK-SAME: %{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
  gpu.func @swapped(%src: !Global, %i: index, %n: index) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %c1 = arith.constant 1 : index
    %end:2 = scf.for %k = %i to %n step %c1 iter_args(%this = %a, %next = %b) -> (!Buffer, !Buffer) {
      gpux.copy %src[%k], %next[%i], 4 : !Global to !Buffer
      scf.yield %next, %this : !Buffer, !Buffer
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @selected
  // CHECK-SAME: workgroup(%{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64},
  // CHECK-SAME: %{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64},
  // CHECK-SAME: %{{[a-z0-9]*}} : memref<64xf32, #gpu.address_space<workgroup>>) kernel
  gpu.func @selected(%src: !Global, %i: index, %odd: i1) workgroup(%a: !Buffer, %b: !Buffer, %other: !Buffer) kernel {
    %slot = arith.select %odd, %a, %b : !Buffer
    gpux.copy %src[%i], %slot[%i], 4 : !Global to !Buffer
    gpu.return
  }

  // The buffer is the caller's.
  // CHECK-LABEL: gpu.func @argument
  // CHECK-NOT: llvm.align
  gpu.func @argument(%src: !Global, %dst: !Buffer, %i: index) workgroup(%other: !Buffer) {
    gpux.copy %src[%i], %dst[%i], 4 : !Global to !Buffer
    gpu.return
  }
}
