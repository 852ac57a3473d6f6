// RUN: async-opt %s --split-input-file --verify-diagnostics

func.func @dependencies_without_async(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %t: !async.token) {
  // expected-error @+1 {{dependencies need the 'async' keyword before them: without it there are no tokens}}
  gpux.copy [%t] %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @dependencies_without_token(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %t: !async.token) {
  // expected-error @+1 {{'gpux.copy' op has dependencies but no token: use the async form, or wait before the copy}}
  "gpux.copy"(%t, %src, %i, %dst, %i) <{elements = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>}>
      : (!async.token, memref<64xf32>, index, memref<64xf32, 3>, index) -> ()
  return
}

// -----

func.func @source_in_workgroup_memory(%src: memref<64xf32, 3>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op source must be in global memory (the default memory space, 1 or #gpu.address_space<global>), got 'memref<64xf32, 3>'}}
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32, 3> to memref<64xf32, 3>
  return
}

// -----

func.func @destination_in_global_memory(%src: memref<64xf32>, %dst: memref<64xf32>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op destination must be in workgroup memory (memory space 3 or #gpu.address_space<workgroup>), got 'memref<64xf32>'}}
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @destination_in_private_memory(%src: memref<64xf32>, %dst: memref<64xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op destination must be in workgroup memory}}
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<private>>
  return
}

// -----

func.func @other_element_type(%src: memref<64xf32>, %dst: memref<64xi32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op source has elements of type 'f32', the destination of type 'i32': a copy does not convert}}
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xi32, 3>
  return
}

// -----

func.func @element_of_four_bits(%src: memref<64xi4>, %dst: memref<64xi4, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op elements must be integers or floats of whole bytes, got 'i4'}}
  gpux.copy %src[%i], %dst[%i], 8 : memref<64xi4> to memref<64xi4, 3>
  return
}

// -----

func.func @index_elements(%src: memref<64xindex>, %dst: memref<64xindex, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op elements must be integers or floats of whole bytes, got 'index'}}
  gpux.copy %src[%i], %dst[%i], 1 : memref<64xindex> to memref<64xindex, 3>
  return
}

// -----

func.func @vector_elements(%src: memref<64xvector<4xf32>>, %dst: memref<64xvector<4xf32>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op elements must be integers or floats of whole bytes, got 'vector<4xf32>'}}
  gpux.copy %src[%i], %dst[%i], 1 : memref<64xvector<4xf32>> to memref<64xvector<4xf32>, 3>
  return
}

// -----

func.func @twelve_bytes(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op copies 3 elements of 4 bytes = 12 bytes, but a transfer has 4, 8 or 16 bytes}}
  gpux.copy %src[%i], %dst[%i], 3 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @two_bytes(%src: memref<64xf16>, %dst: memref<64xf16, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op copies 1 elements of 2 bytes = 2 bytes, but a transfer has 4, 8 or 16 bytes}}
  gpux.copy %src[%i], %dst[%i], 1 : memref<64xf16> to memref<64xf16, 3>
  return
}

// -----

func.func @no_elements(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op copies 0 elements, but a transfer has 4, 8 or 16 bytes}}
  gpux.copy %src[%i], %dst[%i], 0 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @huge_number_of_elements(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op copies 4611686018427387908 elements, but a transfer has 4, 8 or 16 bytes}}
  gpux.copy %src[%i], %dst[%i], 4611686018427387908 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @bypass_of_eight_bytes(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op bypass_l1 needs a transfer of 16 bytes, got 8}}
  gpux.copy %src[%i], %dst[%i], 2 {bypass_l1} : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @count_above_elements(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c5 = arith.constant 5 : index
  // expected-error @+1 {{'gpux.copy' op reads 5 elements of the source, but copies 4: the count is between 0 and the number of elements}}
  gpux.copy %src[%i], %dst[%i], 4, %c5 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @negative_count(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c = arith.constant -1 : index
  // expected-error @+1 {{'gpux.copy' op reads -1 elements of the source, but copies 4: the count is between 0 and the number of elements}}
  gpux.copy %src[%i], %dst[%i], 4, %c : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @counts_in_range(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  gpux.copy %src[%i], %dst[%i], 4, %c0 : memref<64xf32> to memref<64xf32, 3>
  gpux.copy %src[%i], %dst[%i], 4, %c4 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @too_few_indices(%src: memref<8x8xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op source has rank 2, but 1 indices are given}}
  gpux.copy %src[%i], %dst[%i], 4 : memref<8x8xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @too_many_indices(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op destination has rank 1, but 2 indices are given}}
  gpux.copy %src[%i], %dst[%i, %i], 4 : memref<64xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @strided_source(%src: memref<8x8xf32, strided<[1, 8]>>, %dst: memref<8x8xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op source needs a contiguous innermost dimension (stride 1) to copy 4 elements at once, got 'memref<8x8xf32, strided<[1, 8]>>'}}
  gpux.copy %src[%i, %i], %dst[%i, %i], 4 : memref<8x8xf32, strided<[1, 8]>> to memref<8x8xf32, 3>
  return
}

// -----

func.func @destination_of_unknown_stride(%src: memref<64xf32>, %dst: memref<64xf32, strided<[?]>, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op destination needs a contiguous innermost dimension (stride 1) to copy 2 elements at once}}
  gpux.copy %src[%i], %dst[%i], 2 : memref<64xf32> to memref<64xf32, strided<[?]>, 3>
  return
}

// -----

func.func @layout_without_strides(%src: memref<64xf32, affine_map<(i) -> (i mod 8)>>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op source needs a strided layout, got 'memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>'}}
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32, affine_map<(i) -> (i mod 8)>> to memref<64xf32, 3>
  return
}

// -----

func.func @result_is_no_token(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{'gpux.copy' op result #0 must be async token, but got 'f32'}}
  %t = "gpux.copy"(%src, %i, %dst, %i) <{elements = 4 : i64, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 0>}>
      : (memref<64xf32>, index, memref<64xf32, 3>, index) -> f32
  return
}

// -----

func.func @unranked(%src: memref<*xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.memref, but found 'memref<*xf32>'}}
  gpux.copy %src[], %dst[%i], 4 : memref<*xf32> to memref<64xf32, 3>
  return
}

// -----

func.func @too_many_groups() {
  // expected-error @+1 {{'gpux.wait_group' op leaves 64 groups in flight, but the hardware counts from 0 to 63 on the cp_async queue}}
  gpux.wait_group <cp_async>, 64
  return
}

// -----

func.func @negative_groups() {
  // expected-error @+1 {{'gpux.wait_group' op leaves -1 groups in flight, but the hardware counts from 0 to 63 on the bulk queue}}
  gpux.wait_group <bulk>, -1
  return
}

// -----

// The counter of wgmma has three bits.
func.func @too_many_groups_of_wgmma() {
  gpux.wait_group <wgmma>, 7
  // expected-error @+1 {{'gpux.wait_group' op leaves 8 groups in flight, but the hardware counts from 0 to 7 on the wgmma queue}}
  gpux.wait_group <wgmma>, 8
  return
}

// -----

func.func @read_of_other_queue() {
  // expected-error @+1 {{'gpux.wait_group' op waits for reads only, which the cp_async queue can't tell apart: 'read' is for <bulk>}}
  gpux.wait_group <cp_async>, 0 read
  return
}

// -----

func.func @unknown_queue() {
  // expected-error @+1 {{expected a queue: cp_async, bulk or wgmma}}
  gpux.commit_group <dma>
  return
}

// -----

func.func @flag_within_an_engine() {
  // expected-error @below {{'gpux.set_flag' op is between 'V' and itself: an engine keeps its own order, without flags}}
  gpux.set_flag <"V", "V", 0>
  return
}

// -----

func.func @flag_without_engine() {
  // expected-error @below {{'gpux.wait_flag' op names no engine}}
  gpux.wait_flag <"", "V", 0>
  return
}

// -----

func.func @negative_flag() {
  // expected-error @below {{'gpux.wait_flag' op has id -1, but ids begin at 0}}
  gpux.wait_flag <"M", "V", -1>
  return
}
