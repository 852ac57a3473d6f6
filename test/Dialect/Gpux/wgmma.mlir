// gpux.wgmma: what it prints, and what its verifier rejects.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics | async-opt --split-input-file | FileCheck %s

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>

// CHECK-LABEL: @token_form
// CHECK: %[[SUM:.*]], %[[TOKEN:.*]] = gpux.wgmma async [%{{.*}}] %{{.*}}, %{{.*}}, %{{.*}} : !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>, !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>, !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
// CHECK: return %[[SUM]], %[[TOKEN]]
func.func @token_form(%a: !a, %b: !b, %c: !acc, %t: !async.token) -> (!acc, !async.token) {
  %sum, %u = gpux.wgmma async [%t] %a, %b, %c : !a, !b, !acc
  return %sum, %u : !acc, !async.token
}

// CHECK-LABEL: @counted_form
// CHECK: gpux.wgmma %{{.*}}, %{{.*}}, %{{.*}} :
func.func @counted_form(%a: !a, %b: !b, %c: !acc) -> !acc {
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return %sum : !acc
}

// -----

// Both matrices lie the other way around, and A has two blocks of rows.
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x64xbf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>
// CHECK-LABEL: @transposed
// CHECK: gpux.wgmma %{{.*}}, %{{.*}}, %{{.*}} {transpose_a, transpose_b} :
func.func @transposed(%a: !a, %b: !b, %c: !acc) -> !acc {
  %sum = gpux.wgmma %a, %b, %c {transpose_a, transpose_b} : !a, !b, !acc
  return %sum : !acc
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E4M3FN, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<256x128xf8E5M2, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x256xf32>>
// CHECK-LABEL: @floats_of_8_bits
// CHECK: gpux.wgmma
func.func @floats_of_8_bits(%a: !a, %b: !b, %c: !acc) -> !acc {
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !acc
  return %sum : !acc
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @dependency_without_token(%a: !a, %c: !acc, %t: !async.token) {
  // expected-error @+1 {{dependencies need the 'async' keyword before them: without it there are no tokens}}
  %sum = gpux.wgmma [%t] %a, %a, %c : !a, !a, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xf64, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf32>>
func.func @elements(%a: !a, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has elements of type 'f64', but those that can be multiplied are f16, bf16, f32 (as tf32), f8E4M3FN, f8E5M2, i8 and ui8}}
  %sum = gpux.wgmma %a, %a, %c : !a, !a, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @mixed_elements(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has elements of type 'f16', B of type 'bf16': the hardware multiplies elements of the same type}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @global_memory(%a: !a, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A must be a matrix of known size in workgroup memory, got 'memref<64x64xf16>'}}
  %sum = gpux.wgmma %a, %a, %c : !a, !a, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @short_rows(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has rows of 32 elements along K, but a row that is swizzled by 128 bytes has 64}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @tf32_by_columns(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op B has N contiguous in memory, which the hardware allows for f16 and bf16 only: K has to be contiguous for 'f32'}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
func.func @boxes(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op B has rows of 32 elements, but consists of boxes with rows of 64 elements}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<72x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<72x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @k_of_an_instruction(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 72, but an instruction multiplies 16 at a time}}
  %sum = gpux.wgmma %a, %b, %c {transpose_a} : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @other_k(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 64, B has K = 32: A is MxK (KxM with transpose_a), B is KxN (NxK with transpose_b)}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<32x64xf32>>
func.func @few_rows(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op multiplies 32 rows of A, but a warpgroup multiplies 64 at a time}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<12x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x12xf32>>
func.func @odd_columns(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op multiplies 12 columns of B, but the hardware multiplies a multiple of 8 up to 256}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @other_accumulator(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op adds 'vector<64x128xf32>' to the accumulator, which has 'vector<64x64xf32>'}}
  %sum = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

// No size is 0, and none is too large to be told.
!z = !nvgpu.warpgroup.descriptor<tensor = memref<0x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @no_k(%a: !z, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 0, but an instruction multiplies 16 at a time}}
  %d = gpux.wgmma %a, %a, %c {transpose_a} : !z, !z, !acc
  return
}

// -----

!z = !nvgpu.warpgroup.descriptor<tensor = memref<0x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @no_rows(%a: !z, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op multiplies 0 rows of A}}
  %d = gpux.wgmma %a, %b, %c : !z, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!z = !nvgpu.warpgroup.descriptor<tensor = memref<64x0xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @no_columns(%a: !a, %b: !z, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op multiplies 0 columns of B}}
  %d = gpux.wgmma %a, %b, %c : !a, !z, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x4611686018427387904xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @large_k(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A is larger than the workgroup memory of a block, 232448 bytes: 'memref<64x4611686018427387904xf16, 3>'}}
  %d = gpux.wgmma %a, %b, %c : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[128, 1]>, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @slice(%a: !a, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A must lie row by row, without gaps, got 'memref<64x64xf16, strided<[128, 1]>, 3>'}}
  %d = gpux.wgmma %a, %a, %c : !a, !a, !acc
  return
}

// -----

// Integers have fewer sizes: 8, 16, 24, 32, then multiples of 16.
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<24x128xui8, 3>>
!c = !nvgpu.warpgroup.descriptor<tensor = memref<40x128xui8, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x24xi32>>
!other = !nvgpu.warpgroup.accumulator<fragmented = vector<64x40xi32>>
func.func @integers(%a: !a, %b: !b, %c: !c, %d: !acc, %e: !other) {
  %f = gpux.wgmma %a, %b, %d {transpose_b} : !a, !b, !acc
  // expected-error @+1 {{'gpux.wgmma' op multiplies 40 columns of B, but of more than 32 columns of integers the hardware multiplies a multiple of 16}}
  %g = gpux.wgmma %a, %c, %e {transpose_b} : !a, !c, !other
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xi8, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
func.func @sum_of_integers(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op adds products of 'i8' in 'f32', but the hardware adds them in i32}}
  %d = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
func.func @sum_of_bf16(%a: !a, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op adds products of 'bf16' in 'f16', but the hardware adds them in f32}}
  %d = gpux.wgmma %a, %a, %c : !a, !a, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E4M3FN, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xf8E5M2, 3>>
!half = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf16>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xi32>>
func.func @sums_of_floats(%a: !a, %b: !b, %c: !half, %d: !acc) {
  %e = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !half
  // expected-error @+1 {{'gpux.wgmma' op adds products of 'f8E4M3FN' in 'i32', but the hardware adds them in f32 or f16}}
  %f = gpux.wgmma %a, %b, %d {transpose_b} : !a, !b, !acc
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xf8E5M2, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xi32>>
func.func @integers_and_floats(%a: !a, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has elements of type 'i8', B of type 'f8E5M2': the hardware multiplies elements of the same type, or of the two types of 8-bit floats or integers}}
  %d = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !acc
  return
}
