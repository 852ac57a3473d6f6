// RUN: async-opt %s --split-input-file --verify-diagnostics

// A transfer is aligned to its size on both sides. What is known of an address is
// the sum of its constant parts and the common factors of the others.

func.func @constant_index(%src: memref<64xf16>, %dst: memref<64xf16, 3>, %i: index) {
  %c4 = arith.constant 4 : index
  // 4 elements of 2 bytes are 8 bytes: fine for 8, not for 16.
  gpux.copy %src[%c4], %dst[%i], 4 : memref<64xf16> to memref<64xf16, 3>
  // expected-error @+1 {{'gpux.copy' op source address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
  gpux.copy %src[%c4], %dst[%i], 8 : memref<64xf16> to memref<64xf16, 3>
  return
}

// -----

func.func @destination(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'gpux.copy' op destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 4 modulo 16}}
  gpux.copy %src[%i], %dst[%c1], 4 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

// Rows are 6 elements apart: the row makes even what the column is odd by, so it
// depends on the row.
func.func @unknown_row(%src: memref<8x6xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c2 = arith.constant 2 : index
  gpux.copy %src[%i, %c2], %dst[%i], 4 : memref<8x6xf32> to memref<64xf32, 3>
  return
}

// -----

// Here every row is a multiple of 8 bytes, and the column adds 4.
func.func @no_row_helps(%src: memref<8x6xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'gpux.copy' op source address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 4 modulo 8}}
  gpux.copy %src[%i, %c1], %dst[%i], 4 : memref<8x6xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @constant_offset(%src: memref<64xf32, strided<[1], offset: 2>>, %dst: memref<64xf32, 3>, %i: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  gpux.copy %src[%c2], %dst[%i], 4 : memref<64xf32, strided<[1], offset: 2>> to memref<64xf32, 3>
  // expected-error @+1 {{'gpux.copy' op source address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
  gpux.copy %src[%c0], %dst[%i], 4 : memref<64xf32, strided<[1], offset: 2>> to memref<64xf32, 3>
  return
}

// -----

func.func @unknown_offset(%src: memref<64xf32, strided<[1], offset: ?>>, %dst: memref<64xf32, 3>, %i: index) {
  %c1 = arith.constant 1 : index
  gpux.copy %src[%c1], %dst[%i], 4 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, 3>
  return
}

// -----

func.func @unknown_stride(%src: memref<8x8xf32, strided<[?, 1]>>, %dst: memref<64xf32, 3>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  gpux.copy %src[%c3, %c1], %dst[%i], 4 : memref<8x8xf32, strided<[?, 1]>> to memref<64xf32, 3>
  // expected-error @+1 {{'gpux.copy' op source address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 4 modulo 16}}
  gpux.copy %src[%c0, %c1], %dst[%i], 4 : memref<8x8xf32, strided<[?, 1]>> to memref<64xf32, 3>
  return
}

// -----

func.func @negative_index(%src: memref<64xf32, strided<[1], offset: 64>>, %dst: memref<64xf32, 3>, %i: index) {
  %m4 = arith.constant -4 : index
  %m1 = arith.constant -1 : index
  gpux.copy %src[%m4], %dst[%i], 4 : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32, 3>
  // expected-error @+1 {{'gpux.copy' op source address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 12 modulo 16}}
  gpux.copy %src[%m1], %dst[%i], 4 : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32, 3>
  return
}

// -----

func.func @buffer_at_byte(%bytes: memref<1024xi8, #gpu.address_space<workgroup>>, %src: memref<64xf32>, %i: index) {
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c0 = arith.constant 0 : index
  %good = memref.view %bytes[%c16][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  gpux.copy %src[%i], %good[%c0], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  %bad = memref.view %bytes[%c24][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{'gpux.copy' op destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
  gpux.copy %src[%i], %bad[%c0], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @buffer_at_unknown_byte(%bytes: memref<1024xi8, #gpu.address_space<workgroup>>, %src: memref<64xf32>, %i: index) {
  %c1 = arith.constant 1 : index
  %view = memref.view %bytes[%i][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  gpux.copy %src[%i], %view[%c1], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @subview_of_view(%bytes: memref<1024xi8, #gpu.address_space<workgroup>>, %src: memref<64xf32>, %i: index) {
  %c8 = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  %view = memref.view %bytes[%c8][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  // 8 bytes and 2 elements of 4 make 16.
  %good = memref.subview %view[2] [32] [1] : memref<64xf32, #gpu.address_space<workgroup>> to memref<32xf32, strided<[1], offset: 2>, #gpu.address_space<workgroup>>
  gpux.copy %src[%i], %good[%c0], 4 : memref<64xf32> to memref<32xf32, strided<[1], offset: 2>, #gpu.address_space<workgroup>>
  %bad = memref.subview %view[4] [32] [1] : memref<64xf32, #gpu.address_space<workgroup>> to memref<32xf32, strided<[1], offset: 4>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{'gpux.copy' op destination address is misaligned: a transfer of 16 bytes needs a multiple of 16, but it is 8 modulo 16}}
  gpux.copy %src[%i], %bad[%c0], 4 : memref<64xf32> to memref<32xf32, strided<[1], offset: 4>, #gpu.address_space<workgroup>>
  return
}
