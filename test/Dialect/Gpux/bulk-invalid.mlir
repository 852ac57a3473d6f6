// What the hardware can't do, and forms that an operation does not have, are errors that say what to do instead.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @load_without_completion(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op has no completion: use the async form, which has a token, or name the mbarrier, as in '%ring[%slot]'}}
  gpux.tma_load %x[%i, %i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @load_with_token_and_mbarrier(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index, %ring: !ring) {
  // expected-error @+1 {{'gpux.tma_load' op has a token and an mbarrier: the async form has the token, the issued form the mbarrier}}
  %t = gpux.tma_load async %x[%i, %i], %dst, %ring[%i] : !tile, memref<64x64xf16, 3>, !ring
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @load_with_mbarrier_but_no_slot(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index, %ring: !ring) {
  // expected-error @+1 {{'gpux.tma_load' op needs the mbarrier's slot, as in '%ring[%slot]'}}
  "gpux.tma_load"(%x, %i, %i, %dst, %ring) <{operandSegmentSizes = array<i32: 0, 1, 2, 1, 1, 0>}>
      : (!tile, index, index, memref<64x64xf16, 3>, !ring) -> ()
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @issued_load_with_dependencies(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index, %ring: !ring, %t: !async.token) {
  // expected-error @+1 {{'gpux.tma_load' op has dependencies but no token: use the async form, or wait before the load}}
  "gpux.tma_load"(%t, %x, %i, %i, %dst, %ring, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 1, 1, 1>}>
      : (!async.token, !tile, index, index, memref<64x64xf16, 3>, !ring, index) -> ()
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @dependencies_without_async(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index, %t: !async.token) {
  // expected-error @+1 {{dependencies need the 'async' keyword before them}}
  gpux.tma_load [%t] %x[%i, %i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

func.func @bulk_load_without_completion(%src: memref<64xf32>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op has no completion: use the async form, which has a token, or name the mbarrier, as in '%ring[%slot]'}}
  gpux.bulk_load %src, %dst : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @bulk_load_with_token_and_mbarrier(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %ring: !ring, %i: index) {
  // expected-error @+1 {{'gpux.bulk_load' op has a token and an mbarrier: the async form has the token, the issued form the mbarrier}}
  %t = gpux.bulk_load async %src, %dst, %ring[%i] : memref<64xf32> to memref<64xf32, 3>, !ring
  return
}

// -----

!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @bulk_load_with_mbarrier_but_no_slot(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %ring: !ring) {
  // expected-error @+1 {{'gpux.bulk_load' op needs the mbarrier's slot, as in '%ring[%slot]'}}
  "gpux.bulk_load"(%src, %dst, %ring) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 0>}>
      : (memref<64xf32>, memref<64xf32, 3>, !ring) -> ()
  return
}

// -----

!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @issued_bulk_load_with_dependencies(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %ring: !ring, %i: index, %t: !async.token) {
  // expected-error @+1 {{'gpux.bulk_load' op has dependencies but no token: use the async form, or wait before the load}}
  "gpux.bulk_load"(%t, %src, %dst, %ring, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}>
      : (!async.token, memref<64xf32>, memref<64xf32, 3>, !ring, index) -> ()
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @tma_store_with_one_token(%x: !tile, %src: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op has 1 tokens, but the async form has two (source read, destination written) and the issued form none}}
  %t = "gpux.tma_store"(%src, %x, %i, %i) <{operandSegmentSizes = array<i32: 0, 1, 1, 2>}>
      : (memref<64x64xf16, 3>, !tile, index, index) -> !async.token
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @issued_tma_store_with_dependencies(%x: !tile, %src: memref<64x64xf16, 3>, %i: index, %t: !async.token) {
  // expected-error @+1 {{'gpux.tma_store' op has dependencies but no token: use the async form, or wait before the store}}
  "gpux.tma_store"(%t, %src, %x, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 2>}>
      : (!async.token, memref<64x64xf16, 3>, !tile, index, index) -> ()
  return
}

// -----

func.func @bulk_store_with_three_tokens(%src: memref<64xf32, 3>, %dst: memref<64xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op has 3 tokens, but the async form has two (source read, destination written) and the issued form none}}
  %t:3 = "gpux.bulk_store"(%src, %dst) : (memref<64xf32, 3>, memref<64xf32>) -> (!async.token, !async.token, !async.token)
  return
}

// -----

func.func @issued_bulk_store_with_dependencies(%src: memref<64xf32, 3>, %dst: memref<64xf32>, %t: !async.token) {
  // expected-error @+1 {{'gpux.bulk_store' op has dependencies but no token: use the async form, or wait before the store}}
  "gpux.bulk_store"(%t, %src, %dst) : (!async.token, memref<64xf32, 3>, memref<64xf32>) -> ()
  return
}

// -----

func.func @store_dependencies_without_async(%src: memref<64xf32, 3>, %dst: memref<64xf32>, %t: !async.token) {
  // expected-error @+1 {{dependencies need the 'async' keyword before them}}
  gpux.bulk_store [%t] %src, %dst : memref<64xf32, 3> to memref<64xf32>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<f16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @tensor_of_no_dimensions(%x: !tile, %dst: memref<f16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has 0 dimensions, but the hardware knows tensors of 1 to 5}}
  %t = gpux.tma_load async %x[], %dst : !tile, memref<f16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<1x1x1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @tensor_of_six_dimensions(%x: !tile, %dst: memref<1x1x1x1x64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has 6 dimensions, but the hardware knows tensors of 1 to 5}}
  %t = gpux.tma_load async %x[%i, %i, %i, %i, %i, %i], %dst : !tile, memref<1x1x1x1x64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @too_few_indices(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has 2 dimensions, but 1 indices are given}}
  %t = gpux.tma_load async %x[%i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @too_many_indices(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has 2 dimensions, but 3 indices are given}}
  %t = gpux.tma_load async %x[%i, %i, %i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xi4, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @elements_of_four_bits(%x: !tile, %dst: memref<64x64xi4, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'i4', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xi4, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xi1, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @elements_of_one_bit(%x: !tile, %dst: memref<64x64xi1, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'i1', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xi1, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xindex, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @elements_of_index(%x: !tile, %dst: memref<64x64xindex, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'index', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xindex, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xtf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @elements_of_tf32(%x: !tile, %dst: memref<64x64xtf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'tf32', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xtf32, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xvector<4xf32>, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @elements_of_vector(%x: !tile, %dst: memref<64x64xvector<4xf32>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'vector<4xf32>', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xvector<4xf32>, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xcomplex<f32>, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @elements_of_complex(%x: !tile, %dst: memref<64x64xcomplex<f32>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'complex<f32>', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xcomplex<f32>, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @box_in_global_memory(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got 'memref<64x64xf16>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<?x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @box_of_unknown_size(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box needs a static shape, got 'memref<?x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, strided<[128, 1]>, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @box_with_gaps(%x: !tile, %dst: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box must be contiguous, row by row without gaps, got 'memref<64x64xf16, strided<[128, 1]>, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<257x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @box_of_257_rows(%x: !tile, %dst: memref<257x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has 257 elements in a dimension, but the hardware loads 1 to 256 at once; make the box smaller, and the memref a multiple of it in its outermost dimension}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<257x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<4x512xi8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @box_of_512_columns(%x: !tile, %dst: memref<4x512xi8, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has 512 elements in a dimension, but the hardware loads 1 to 256 at once; make the box smaller, and the memref a multiple of it in its outermost dimension}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<4x512xi8, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<0x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @empty_box(%x: !tile, %dst: memref<0x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has 0 elements in a dimension, but the hardware loads 1 to 256 at once}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<0x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x4xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @rows_of_8_bytes(%x: !tile, %dst: memref<64x4xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has rows of 8 bytes, but the hardware needs a multiple of 16}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x4xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x12xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @rows_of_24_bytes(%x: !tile, %dst: memref<64x12xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has rows of 24 bytes, but the hardware needs a multiple of 16}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x12xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf16, 3>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = none>
func.func @rows_wider_than_swizzle_32b(%x: !tile, %dst: memref<8x32xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has rows of 64 bytes, but a swizzle of 32 bytes is for rows of as many}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<8x32xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
func.func @rows_wider_than_swizzle_64b(%x: !tile, %dst: memref<8x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has rows of 128 bytes, but a swizzle of 64 bytes is for rows of as many}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<8x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<8x128xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
func.func @rows_wider_than_swizzle_128b(%x: !tile, %dst: memref<8x128xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has rows of 256 bytes, but a swizzle of 128 bytes is for rows of as many}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<8x128xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x16xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
func.func @interleaved(%x: !tile, %dst: memref<64x16xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op has an interleaved tensor, which is for layouts of images (NC/8HWC8) only; use interleave = none}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x16xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_of_other_elements(%x: !tile, %dst: memref<64x64xbf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op tensor has elements of type 'f16', the destination of type 'bf16': nothing is converted}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xbf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_in_global_memory(%x: !tile, %dst: memref<64x64xf16>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got 'memref<64x64xf16>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xf16>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_of_unknown_size(%x: !tile, %dst: memref<?x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination needs a static shape, got 'memref<?x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<?x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_with_gaps(%x: !tile, %dst: memref<64x64xf16, strided<[72, 1]>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must be contiguous, row by row without gaps, got 'memref<64x64xf16, strided<[72, 1]>, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xf16, strided<[72, 1]>, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_transposed(%x: !tile, %dst: memref<64x64xf16, strided<[1, 64]>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must be contiguous, row by row without gaps}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x64xf16, strided<[1, 64]>, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_of_other_rank(%x: !tile, %dst: memref<4096xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination has rank 1, but the tensor has rank 2}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<4096xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_smaller_than_the_box(%x: !tile, %dst: memref<32x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must have the shape of the box, or a multiple of it in the outermost dimension that is not 1, so that each box is contiguous: got 'memref<32x64xf16, 3>' for 'memref<64x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<32x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_one_and_a_half_boxes(%x: !tile, %dst: memref<96x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must have the shape of the box, or a multiple of it in the outermost dimension that is not 1, so that each box is contiguous: got 'memref<96x64xf16, 3>' for 'memref<64x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<96x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_boxes_side_by_side(%x: !tile, %dst: memref<64x128xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must have the shape of the box, or a multiple of it in the outermost dimension that is not 1, so that each box is contiguous: got 'memref<64x128xf16, 3>' for 'memref<64x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<64x128xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<2x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_several_boxes_in_the_middle(%x: !tile, %dst: memref<2x128x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must have the shape of the box, or a multiple of it in the outermost dimension that is not 1, so that each box is contiguous: got 'memref<2x128x64xf16, 3>' for 'memref<2x64x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i, %i], %dst : !tile, memref<2x128x64xf16, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @destination_no_box_at_all(%x: !tile, %dst: memref<0x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op destination must have the shape of the box, or a multiple of it in the outermost dimension that is not 1, so that each box is contiguous: got 'memref<0x64xf16, 3>' for 'memref<64x64xf16, 3>'}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<0x64xf16, 3>
  return
}

// -----

// A slice of 64 x 64 f16 has 8192 bytes, a row 128: what starts 64 bytes into one can't be a tile.
!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x32xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @misaligned_destination(%x: !tile, %buf: memref<64x32xf16, 3>, %i: index) {
  %dst = memref.subview %buf[1, 0] [16, 32] [1, 1] : memref<64x32xf16, 3> to memref<16x32xf16, strided<[32, 1], offset: 32>, 3>
  // expected-error @+1 {{'gpux.tma_load' op destination address is misaligned: it must be a multiple of 128 bytes, but is 64 modulo 128}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<16x32xf16, strided<[32, 1], offset: 32>, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<256x256xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @more_bytes_than_an_mbarrier_counts(%x: !tile, %dst: memref<1024x256xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op transfers 1048576 bytes, but an mbarrier counts at most 1048575}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<1024x256xf32, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<1x1x1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @stored_tensor_of_six_dimensions(%x: !tile, %src: memref<1x1x1x1x64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op tensor has 6 dimensions, but the hardware knows tensors of 1 to 5}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i, %i, %i, %i, %i] : memref<1x1x1x1x64x64xf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @stored_with_too_few_indices(%x: !tile, %src: memref<64x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op tensor has 2 dimensions, but 1 indices are given}}
  %read, %done = gpux.tma_store async %src, %x[%i] : memref<64x64xf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xi1, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @stored_elements_of_one_bit(%x: !tile, %src: memref<64x64xi1, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op tensor has elements of type 'i1', but the hardware knows integers of 8, 16, 32 or 64 bits, f16, bf16, f32, f64 and floats of 8 bits}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<64x64xi1, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<257x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @stored_box_of_257_rows(%x: !tile, %src: memref<257x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op box has 257 elements in a dimension}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<257x64xf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x4xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @stored_rows_of_8_bytes(%x: !tile, %src: memref<64x4xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op box has rows of 8 bytes, but the hardware needs a multiple of 16}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<64x4xf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @source_of_other_elements(%x: !tile, %src: memref<64x64xbf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op tensor has elements of type 'f16', the source of type 'bf16': nothing is converted}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<64x64xbf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @source_in_global_memory(%x: !tile, %src: memref<64x64xf16>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op source must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got 'memref<64x64xf16>'}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<64x64xf16>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @source_with_gaps(%x: !tile, %src: memref<64x64xf16, strided<[72, 1]>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op source must be contiguous, row by row without gaps, got 'memref<64x64xf16, strided<[72, 1]>, 3>'}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<64x64xf16, strided<[72, 1]>, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @source_of_other_rank(%x: !tile, %src: memref<4096xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op source has rank 1, but the tensor has rank 2}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<4096xf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @source_of_other_shape(%x: !tile, %src: memref<96x64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_store' op source must have the shape of the box, or a multiple of it in the outermost dimension that is not 1, so that each box is contiguous: got 'memref<96x64xf16, 3>' for 'memref<64x64xf16, 3>'}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<96x64xf16, 3>, !tile
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x32xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @misaligned_source(%x: !tile, %buf: memref<64x32xf16, 3>, %i: index) {
  %src = memref.subview %buf[3, 0] [16, 32] [1, 1] : memref<64x32xf16, 3> to memref<16x32xf16, strided<[32, 1], offset: 96>, 3>
  // expected-error @+1 {{'gpux.tma_store' op source address is misaligned: it must be a multiple of 128 bytes, but is 64 modulo 128}}
  %read, %done = gpux.tma_store async %src, %x[%i, %i] : memref<16x32xf16, strided<[32, 1], offset: 96>, 3>, !tile
  return
}

// -----

func.func @line_from_workgroup_memory(%src: memref<64xf32, 3>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source must be in global memory (the default memory space, 1 or #gpu.address_space<global>), got 'memref<64xf32, 3>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32, 3> to memref<64xf32, 3>
  return
}

// -----

func.func @line_from_private_memory(%src: memref<64xf32, #gpu.address_space<private>>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source must be in global memory (the default memory space, 1 or #gpu.address_space<global>), got 'memref<64xf32, #gpu.address_space<private>>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32, #gpu.address_space<private>> to memref<64xf32, 3>
  return
}

// -----

func.func @line_to_global_memory(%src: memref<64xf32>, %dst: memref<64xf32>) {
  // expected-error @+1 {{'gpux.bulk_load' op destination must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got 'memref<64xf32>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @line_of_four_bits(%src: memref<64xi4>, %dst: memref<64xi4, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op elements must be integers or floats of whole bytes, got 'i4'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xi4> to memref<64xi4, 3>
  return
}

// -----

func.func @line_of_index(%src: memref<64xindex>, %dst: memref<64xindex, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op elements must be integers or floats of whole bytes, got 'index'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xindex> to memref<64xindex, 3>
  return
}

// -----

func.func @line_of_vectors(%src: memref<64xvector<4xf32>>, %dst: memref<64xvector<4xf32>, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op elements must be integers or floats of whole bytes, got 'vector<4xf32>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xvector<4xf32>> to memref<64xvector<4xf32>, 3>
  return
}

// -----

func.func @line_of_unknown_size(%src: memref<?xf32>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source needs a static shape, got 'memref<?xf32>'}}
  %t = gpux.bulk_load async %src, %dst : memref<?xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @line_to_unknown_size(%src: memref<64xf32>, %dst: memref<?xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op destination needs a static shape, got 'memref<?xf32, 3>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32> to memref<?xf32, 3>
  return
}

// -----

func.func @line_with_gaps(%src: memref<64xf32, strided<[2]>>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source must be contiguous, row by row without gaps, got 'memref<64xf32, strided<[2]>>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32, strided<[2]>> to memref<64xf32, 3>
  return
}

// -----

func.func @line_to_gaps(%src: memref<4x16xf32>, %dst: memref<4x16xf32, strided<[20, 1]>, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op destination must be contiguous, row by row without gaps, got 'memref<4x16xf32, strided<[20, 1]>, 3>'}}
  %t = gpux.bulk_load async %src, %dst : memref<4x16xf32> to memref<4x16xf32, strided<[20, 1]>, 3>
  return
}

// -----

func.func @line_of_unknown_stride(%src: memref<64xf32, strided<[?]>>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source must be contiguous, row by row without gaps, got 'memref<64xf32, strided<[?]>>'}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32, strided<[?]>> to memref<64xf32, 3>
  return
}

// -----

func.func @line_of_other_elements(%src: memref<64xf32>, %dst: memref<64xi32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source has elements of type 'f32', the destination of type 'i32': a copy does not convert}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32> to memref<64xi32, 3>
  return
}

// -----

func.func @line_of_other_size(%src: memref<64xf32>, %dst: memref<4x8xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op source has 256 bytes, the destination 128}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32> to memref<4x8xf32, 3>
  return
}

// -----

func.func @line_of_12_bytes(%src: memref<3xf32>, %dst: memref<3xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op copies 12 bytes, but the hardware copies a multiple of 16}}
  %t = gpux.bulk_load async %src, %dst : memref<3xf32> to memref<3xf32, 3>
  return
}

// -----

func.func @empty_line(%src: memref<0xf32>, %dst: memref<0xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op copies 0 bytes, but the hardware copies a multiple of 16}}
  %t = gpux.bulk_load async %src, %dst : memref<0xf32> to memref<0xf32, 3>
  return
}

// -----

func.func @line_of_one_mebibyte(%src: memref<262144xf32>, %dst: memref<262144xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op transfers 1048576 bytes, but an mbarrier counts at most 1048575}}
  %t = gpux.bulk_load async %src, %dst : memref<262144xf32> to memref<262144xf32, 3>
  return
}

// -----

// 3 elements of 4 bytes into the buffer is 12 bytes past a multiple of 16.
func.func @misaligned_line(%buf: memref<128xf32>, %dst: memref<64xf32, 3>) {
  %src = memref.subview %buf[3] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1], offset: 3>>
  // expected-error @+1 {{'gpux.bulk_load' op source address is misaligned: it must be a multiple of 16 bytes, but is 12 modulo 16}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32, strided<[1], offset: 3>> to memref<64xf32, 3>
  return
}

// -----

func.func @line_to_misaligned(%src: memref<64xf32>, %buf: memref<128xf32, 3>) {
  %dst = memref.subview %buf[2] [64] [1] : memref<128xf32, 3> to memref<64xf32, strided<[1], offset: 2>, 3>
  // expected-error @+1 {{'gpux.bulk_load' op destination address is misaligned: it must be a multiple of 16 bytes, but is 8 modulo 16}}
  %t = gpux.bulk_load async %src, %dst : memref<64xf32> to memref<64xf32, strided<[1], offset: 2>, 3>
  return
}

// -----

func.func @stored_line_to_workgroup_memory(%src: memref<64xf32, 3>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_store' op destination must be in global memory (the default memory space, 1 or #gpu.address_space<global>), got 'memref<64xf32, 3>'}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, 3> to memref<64xf32, 3>
  return
}

// -----

func.func @stored_line_from_global_memory(%src: memref<64xf32>, %dst: memref<64xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op source must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got 'memref<64xf32>'}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @stored_line_of_four_bits(%src: memref<64xi4, 3>, %dst: memref<64xi4>) {
  // expected-error @+1 {{'gpux.bulk_store' op elements must be integers or floats of whole bytes, got 'i4'}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xi4, 3> to memref<64xi4>
  return
}

// -----

func.func @stored_line_of_unknown_size(%src: memref<?xf32, 3>, %dst: memref<64xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op source needs a static shape, got 'memref<?xf32, 3>'}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<?xf32, 3> to memref<64xf32>
  return
}

// -----

func.func @stored_line_with_gaps(%src: memref<64xf32, strided<[2]>, 3>, %dst: memref<64xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op source must be contiguous, row by row without gaps, got 'memref<64xf32, strided<[2]>, 3>'}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, strided<[2]>, 3> to memref<64xf32>
  return
}

// -----

func.func @stored_line_to_gaps(%src: memref<64xf32, 3>, %dst: memref<64xf32, strided<[2]>>) {
  // expected-error @+1 {{'gpux.bulk_store' op destination must be contiguous, row by row without gaps, got 'memref<64xf32, strided<[2]>>'}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, 3> to memref<64xf32, strided<[2]>>
  return
}

// -----

func.func @stored_line_of_other_elements(%src: memref<64xf32, 3>, %dst: memref<64xi32>) {
  // expected-error @+1 {{'gpux.bulk_store' op source has elements of type 'f32', the destination of type 'i32': a copy does not convert}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, 3> to memref<64xi32>
  return
}

// -----

func.func @stored_line_of_other_size(%src: memref<64xf32, 3>, %dst: memref<65xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op source has 256 bytes, the destination 260}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, 3> to memref<65xf32>
  return
}

// -----

func.func @stored_line_of_12_bytes(%src: memref<3xf32, 3>, %dst: memref<3xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op copies 12 bytes, but the hardware copies a multiple of 16}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<3xf32, 3> to memref<3xf32>
  return
}

// -----

func.func @stored_line_misaligned(%buf: memref<128xf32, 3>, %dst: memref<64xf32>) {
  %src = memref.subview %buf[1] [64] [1] : memref<128xf32, 3> to memref<64xf32, strided<[1], offset: 1>, 3>
  // expected-error @+1 {{'gpux.bulk_store' op source address is misaligned: it must be a multiple of 16 bytes, but is 4 modulo 16}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, strided<[1], offset: 1>, 3> to memref<64xf32>
  return
}

// -----

func.func @stored_line_to_misaligned(%src: memref<64xf32, 3>, %buf: memref<128xf32>) {
  %dst = memref.subview %buf[2] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1], offset: 2>>
  // expected-error @+1 {{'gpux.bulk_store' op destination address is misaligned: it must be a multiple of 16 bytes, but is 8 modulo 16}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, 3> to memref<64xf32, strided<[1], offset: 2>>
  return
}

// -----

// At an offset of whole multiples, or one that only the running program knows, nothing is wrong.
!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x32xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @aligned(%x: !tile, %buf: memref<64x32xf16, 3>, %line: memref<128xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %second = memref.subview %buf[2, 0] [16, 32] [1, 1] : memref<64x32xf16, 3> to memref<16x32xf16, strided<[32, 1], offset: 64>, 3>
  %t = gpux.tma_load async %x[%i, %i], %second : !tile, memref<16x32xf16, strided<[32, 1], offset: 64>, 3>
  %any = memref.subview %buf[%i, 0] [16, 32] [1, 1] : memref<64x32xf16, 3> to memref<16x32xf16, strided<[32, 1], offset: ?>, 3>
  %u = gpux.tma_load async %x[%i, %i], %any : !tile, memref<16x32xf16, strided<[32, 1], offset: ?>, 3>
  %four = memref.subview %line[4] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1], offset: 4>>
  %v = gpux.bulk_load async %four, %dst : memref<64xf32, strided<[1], offset: 4>> to memref<64xf32, 3>
  return
}

// -----

func.func @slot_without_mbarrier(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.bulk_load' op has a slot, but no mbarriers that it is one of}}
  %t = "gpux.bulk_load"(%src, %dst, %i) <{operandSegmentSizes = array<i32: 0, 1, 1, 0, 1>}>
      : (memref<64xf32>, memref<64xf32, 3>, index) -> !async.token
  return
}

// -----

func.func @stored_line_of_one_mebibyte(%src: memref<262144xf32, 3>, %dst: memref<262144xf32>) {
  // expected-error @+1 {{'gpux.bulk_store' op transfers 1048576 bytes, but workgroup memory has less}}
  %read, %done = gpux.bulk_store async %src, %dst : memref<262144xf32, 3> to memref<262144xf32>
  return
}

// -----

!narrow = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
func.func @rows_narrower_than_swizzle_128b(%x: !narrow, %dst: memref<8x32xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op box has rows of 64 bytes, but a swizzle of 128 bytes is for rows of as many}}
  %t = gpux.tma_load async %x[%i, %i], %dst : !narrow, memref<8x32xf16, 3>
  return
}

// -----

!small = !nvgpu.tensormap.descriptor<tensor = memref<1x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @boxes_between_128_bytes(%x: !small, %one: memref<1x8xf32, 3>, %four: memref<4x8xf32, 3>, %i: index) {
  %t = gpux.tma_load async %x[%i, %i], %one : !small, memref<1x8xf32, 3>
  // expected-error @+1 {{'gpux.tma_load' op destination is several boxes of 32 bytes, of which each must begin at a multiple of 128 bytes; make the box larger, or transfer boxes one by one}}
  %u = gpux.tma_load async %x[%i, %i], %four : !small, memref<4x8xf32, 3>
  return
}

// -----

!global = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>
func.func @mbarriers_in_global_memory(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %ring: !global, %i: index) {
  // expected-error @+1 {{'gpux.bulk_load' op mbarriers must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'}}
  gpux.bulk_load %src, %dst, %ring[%i] : memref<64xf32> to memref<64xf32, 3>, !global
  return
}

// -----

!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @slot_behind_the_last(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %ring: !ring) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  gpux.bulk_load %src, %dst, %ring[%c2] : memref<64xf32> to memref<64xf32, 3>, !ring
  // expected-error @+1 {{'gpux.bulk_load' op names slot 3, but there are 3 mbarriers, which are counted from 0}}
  gpux.bulk_load %src, %dst, %ring[%c3] : memref<64xf32> to memref<64xf32, 3>, !ring
  return
}

// -----

// More bytes than 64 bits count are too many, too.
func.func @line_of_two_to_the_66_bytes(%src: memref<4611686018427387905x4xf32>, %dst: memref<4611686018427387905x4xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op transfers }}
  %t = gpux.bulk_load async %src, %dst : memref<4611686018427387905x4xf32> to memref<4611686018427387905x4xf32, 3>
  return
}

// -----

!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @tile_of_two_to_the_64_bytes(%x: !tile, %dst: memref<288230376151711760x16xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.tma_load' op transfers }}
  %t = gpux.tma_load async %x[%i, %i], %dst : !tile, memref<288230376151711760x16xf32, 3>
  return
}

// -----

!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
func.func @issued_form_names_a_warp(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %ring: !ring) {
  // expected-error @+1 {{'gpux.bulk_load' op names the warp that issues it, but has no token: whoever executes the issued form issues it}}
  gpux.bulk_load %src, %dst, %ring[%i] {issuer = 1 : i32} : memref<64xf32> to memref<64xf32, 3>, !ring
  return
}

// -----

func.func @no_such_warp(%src: memref<64xf32>, %dst: memref<64xf32, 3>) {
  // expected-error @+1 {{'gpux.bulk_load' op attribute 'issuer' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 31}}
  %t = gpux.bulk_load async %src, %dst {issuer = 32 : i32} : memref<64xf32> to memref<64xf32, 3>
  return
}
