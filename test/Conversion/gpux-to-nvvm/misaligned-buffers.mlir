// What can be proved misaligned, through whatever view, is an error.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm --verify-diagnostics

!Bytes = memref<4096xi8, #gpu.address_space<workgroup>>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @shifted_view {
  gpu.func @kernel(%src: memref<64xf32>) workgroup(%bytes: !Bytes) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %dst = memref.view %bytes[%c8][] : !Bytes to !Buffer
    gpux.copy %src[%c0], %dst[%c0], 2 : memref<64xf32> to !Buffer
    // expected-error @+1 {{destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
    gpux.copy %src[%c0], %dst[%c0], 4 : memref<64xf32> to !Buffer
    gpu.return
  }
}

// -----

!Bytes = memref<4096xi8, #gpu.address_space<workgroup>>
!Part = memref<2048xi8, #gpu.address_space<workgroup>>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @view_of_view {
  gpu.func @kernel(%src: memref<64xf32>) workgroup(%bytes: !Bytes) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c12 = arith.constant 12 : index
    %part = memref.view %bytes[%c4][] : !Bytes to !Part
    %good = memref.view %part[%c12][] : !Part to !Buffer
    gpux.copy %src[%c0], %good[%c0], 4 : memref<64xf32> to !Buffer
    %bad = memref.view %part[%c0][] : !Part to !Buffer
    // expected-error @+1 {{destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 4 modulo 16}}
    gpux.copy %src[%c0], %bad[%c0], 4 : memref<64xf32> to !Buffer
    gpu.return
  }
}

// -----

!Bytes = memref<4096xi8, #gpu.address_space<workgroup>>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>
!Rows = memref<8x8xf32, #gpu.address_space<workgroup>>

gpu.module @reshaped_view {
  gpu.func @kernel(%src: memref<64xf32>, %i: index) workgroup(%bytes: !Bytes) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %view = memref.view %bytes[%c8][] : !Bytes to !Buffer
    %rows = memref.expand_shape %view [[0, 1]] output_shape [8, 8] : !Buffer into !Rows
    // expected-error @+1 {{destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
    gpux.copy %src[%c0], %rows[%i, %c0], 4 : memref<64xf32> to !Rows
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>
!Tail = memref<60xf32, strided<[1], offset: 2>, #gpu.address_space<workgroup>>

gpu.module @static_offset {
  gpu.func @kernel(%src: memref<64xf32>) workgroup(%buffer: !Buffer) kernel {
    %c0 = arith.constant 0 : index
    %tail = memref.subview %buffer[2] [60] [1] : !Buffer to !Tail
    // expected-error @+1 {{destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
    gpux.copy %src[%c0], %tail[%c0], 4 : memref<64xf32> to !Tail
    gpu.return
  }
}
