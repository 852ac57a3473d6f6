// Matrices in the registers of a warpgroup: what is printed, and what the verifiers reject.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics | async-opt --split-input-file | FileCheck %s

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<128x48xbf16>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<48x64xbf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>>

// A from registers has any K that B can have.
// CHECK-LABEL: @from_registers
// CHECK: %[[A:.*]] = gpux.write_fragment %{{.*}} : vector<2x6x2x2xbf16> to !nvgpu.warpgroup.accumulator<fragmented = vector<128x48xbf16>>
// CHECK: gpux.wgmma async %[[A]], %{{.*}}, %{{.*}} : !nvgpu.warpgroup.accumulator<fragmented = vector<128x48xbf16>>, !nvgpu.warpgroup.descriptor
func.func @from_registers(%numbers: vector<2x6x2x2xbf16>, %b: !b, %c: !acc) -> (!acc, !async.token) {
  %a = gpux.write_fragment %numbers : vector<2x6x2x2xbf16> to !p
  %sum, %t = gpux.wgmma async %a, %b, %c : !p, !b, !acc
  return %sum, %t : !acc, !async.token
}

// It has effects: a read that nobody needs is not removed, and one in a loop not moved out of it.
// CHECK-LABEL: @read
// CHECK: gpux.read_fragment %{{.*}} : !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>> to vector<2x8x2x2xf32>
func.func @read(%c: !acc) -> vector<2x8x2x2xf32> {
  %numbers = gpux.read_fragment %c : !acc to vector<2x8x2x2xf32>
  return %numbers : vector<2x8x2x2xf32>
}

// -----

// A of other types: a register has 32 bits of a row, and so of one number of tf32, or four of 8 bits.
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>>
!tf = !nvgpu.warpgroup.accumulator<fragmented = vector<128x32xtf32>>
!tfb = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
// CHECK-LABEL: @tf32
// CHECK: gpux.write_fragment %{{.*}} : vector<2x8x2x1xf32> to !nvgpu.warpgroup.accumulator<fragmented = vector<128x32xtf32>>
// CHECK: gpux.read_fragment %{{.*}} : !nvgpu.warpgroup.accumulator<fragmented = vector<128x32xtf32>> to vector<2x8x2x1xf32>
func.func @tf32(%numbers: vector<2x8x2x1xf32>, %b: !tfb, %c: !sum) {
  %a = gpux.write_fragment %numbers : vector<2x8x2x1xf32> to !tf
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !tf, !tfb, !sum
  %same = gpux.read_fragment %a : !tf to vector<2x8x2x1xf32>
  return
}

!f8 = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf8E4M3FN>>
!f8b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E5M2, 3>>
// CHECK-LABEL: @floats_of_8_bits
// CHECK: gpux.write_fragment %{{.*}} : vector<2x8x2x4xf8E4M3FN> to
func.func @floats_of_8_bits(%numbers: vector<2x8x2x4xf8E4M3FN>, %b: !f8b, %c: !sum) {
  %a = gpux.write_fragment %numbers : vector<2x8x2x4xf8E4M3FN> to !f8
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !f8, !f8b, !sum
  return
}

!u8 = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xui8>>
!i8b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!isum = !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xi32>>
// CHECK-LABEL: @integers
// CHECK: gpux.write_fragment %{{.*}} : vector<2x8x2x4xui8> to
func.func @integers(%numbers: vector<2x8x2x4xui8>, %b: !i8b, %c: !isum) {
  %a = gpux.write_fragment %numbers : vector<2x8x2x4xui8> to !u8
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !u8, !i8b, !isum
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @transposed_registers(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op transposes A, which is in registers: the hardware transposes what lies in workgroup memory only}}
  %sum = gpux.wgmma %a, %b, %c {transpose_a} : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @f32_in_registers(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A is in registers with elements of type 'f32', which lie there as those of an accumulator: write a matrix of tf32 by gpux.write_fragment, whose numbers are f32}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x72xf16>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<80x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @k_of_registers(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 72, but an instruction multiplies 16 at a time}}
  %sum = gpux.wgmma %a, %b, %c : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64xf16>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @no_matrix(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A must be a matrix of known size, got 'vector<64xf16>'}}
  %sum = gpux.wgmma %a, %b, %c : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<4611686018427387904x64xf16>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @too_many_rows(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op is of 'vector<4611686018427387904x64xf16>', which is larger than the registers of a warpgroup, 255 of 32 bits in each thread}}
  %sum = gpux.wgmma %a, %b, %c : !p, !b, !acc
  return
}

// -----

// 256 registers in each thread.
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x256xf32>>
func.func @too_many_registers(%numbers: vector<2x32x2x2xf32>) {
  // expected-error @+1 {{'gpux.write_fragment' op is of 'vector<128x256xf32>', which is larger than the registers of a warpgroup}}
  %c = gpux.write_fragment %numbers : vector<2x32x2x2xf32> to !acc
  return
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @other_numbers(%c: !acc) {
  // expected-error @+1 {{'gpux.read_fragment' op is of 'vector<64x64xf32>', of which a thread has 'vector<1x8x2x2xf32>', not 'vector<32xf32>'}}
  %numbers = gpux.read_fragment %c : !acc to vector<32xf32>
  return
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x12xf32>>
func.func @odd_columns(%numbers: vector<1x1x2x2xf32>) {
  // expected-error @+1 {{'gpux.write_fragment' op is of 'vector<64x12xf32>', but a warpgroup has matrices of a multiple of 64 rows and of 8 columns in its registers}}
  %c = gpux.write_fragment %numbers : vector<1x1x2x2xf32> to !acc
  return
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf64>>
func.func @doubles(%numbers: vector<1x1x2x2xf64>) {
  // expected-error @+1 {{'gpux.write_fragment' op is of elements of type 'f64', but matrices in registers are of f32, f16, bf16 or i32, and as A of a multiplication of tf32, f8E4M3FN, f8E5M2, i8 or ui8, too}}
  %c = gpux.write_fragment %numbers : vector<1x1x2x2xf64> to !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xi32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xi32>>
func.func @sums_as_a(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A is in registers with elements of type 'i32', but those that can be multiplied from there are f16, bf16, tf32, f8E4M3FN, f8E5M2, i8 and ui8}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
  return
}

// -----

// B of these types has K contiguous, as the hardware does not transpose it.
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @transposed_b(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op B has N contiguous in memory, which the hardware allows for f16 and bf16 only: K has to be contiguous for 'f32'}}
  %sum = gpux.wgmma %a, %b, %c : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x48xf8E5M2>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E5M2, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @k_of_bytes(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 48, but an instruction multiplies 32 at a time}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x36xtf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @k_of_tf32(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 36, but an instruction multiplies 8 at a time}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xtf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @more_k_than_b(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has K = 64, B has K = 32}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @other_b(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A has elements of type 'tf32', B of type 'f16': the hardware multiplies elements of the same type}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x32xf32, 3>>
func.func @a_as_accumulator(%a: !p, %b: !b) {
  // expected-error @+2 {{'gpux.wgmma' op adds products of 'tf32' in 'tf32', but the hardware adds them in f32}}
  // expected-note @+1 {{a matrix of 'tf32' in registers is A: write what is added to, such as zeros, by gpux.write_fragment to a matrix of f32}}
  %sum = gpux.wgmma %a, %b, %a {transpose_b} : !p, !b, !p
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x128xi8, 3>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xi8>>
func.func @bytes_as_accumulator(%a: !a, %b: !b, %c: !p) {
  // expected-error @+2 {{'gpux.wgmma' op adds products of 'i8' in 'i8', but the hardware adds them in i32}}
  // expected-note @+1 {{a matrix of 'i8' in registers is A: write what is added to, such as zeros, by gpux.write_fragment to a matrix of i32}}
  %sum = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !p
  return
}

// -----

// The numbers of an accumulator of as many rows and columns.
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
func.func @numbers_of_an_accumulator(%numbers: vector<1x4x2x2xf32>) {
  // expected-error @+1 {{'gpux.write_fragment' op is of 'vector<64x32xtf32>', of which a thread has 'vector<1x8x2x1xf32>', not 'vector<1x4x2x2xf32>'}}
  %a = gpux.write_fragment %numbers : vector<1x4x2x2xf32> to !p
  return
}

// -----

!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x48xi8>>
func.func @odd_bytes(%c: !p) {
  // expected-error @+1 {{'gpux.read_fragment' op is of 'vector<64x48xi8>', but a warpgroup has matrices of a multiple of 64 rows and of 32 columns in its registers}}
  %numbers = gpux.read_fragment %c : !p to vector<1x3x2x4xi8>
  return
}

// -----

// 256 registers in each thread.
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<256x512xf8E4M3FN>>
func.func @too_many_bytes(%numbers: vector<4x32x2x4xf8E4M3FN>) {
  // expected-error @+1 {{'gpux.write_fragment' op is of 'vector<256x512xf8E4M3FN>', which is larger than the registers of a warpgroup}}
  %a = gpux.write_fragment %numbers : vector<4x32x2x4xf8E4M3FN> to !p
  return
}
