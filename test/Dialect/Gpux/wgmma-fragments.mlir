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
func.func @tf32_in_registers(%a: !p, %b: !b, %c: !acc) {
  // expected-error @+1 {{'gpux.wgmma' op A is in registers with elements of type 'f32', but only f16 and bf16 lie there as gpux.write_fragment writes: put A into workgroup memory}}
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
  // expected-error @+1 {{'gpux.write_fragment' op is of elements of type 'f64', but matrices in registers are of f32, f16, bf16 or i32}}
  %c = gpux.write_fragment %numbers : vector<1x1x2x2xf64> to !acc
  return
}
