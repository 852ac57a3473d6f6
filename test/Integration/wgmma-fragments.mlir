// A from registers, of each type that is multiplied, to machine code: ptxas has nothing to say of it, and the multiplications read
// registers.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory --gpux-lower-to-nvvm="chip=sm_90a format=isa features=+ptx84" -o %t.mlir
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: nvdisasm %t.cubin > %t.sass
// RUN: FileCheck %s --input-file %t.sass --check-prefix=TF32
// RUN: FileCheck %s --input-file %t.sass --check-prefix=F8
// RUN: FileCheck %s --input-file %t.sass --check-prefix=INTEGERS

// SILENT-NOT: {{.}}

!tf_tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!tf_map = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tf = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, #gpu.address_space<workgroup>>>
!tf_a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!f8_tile = memref<64x128xf8E5M2, #gpu.address_space<workgroup>>
!f8_map = !nvgpu.tensormap.descriptor<tensor = memref<64x128xf8E5M2, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!f8 = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E5M2, #gpu.address_space<workgroup>>>
!e4m3_a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf8E4M3FN>>
!e5m2_a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf8E5M2>>
!i8_tile = memref<64x128xi8, #gpu.address_space<workgroup>>
!i8_map = !nvgpu.tensormap.descriptor<tensor = memref<64x128xi8, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!i8 = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, #gpu.address_space<workgroup>>>
!s8_a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xi8>>
!u8_a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xui8>>
!floats = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!halves = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!integers = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xi32>>

gpu.module @fragments {
  // TF32-LABEL: .text.tf32:
  // TF32-COUNT-4: HGMMA.64x64x8.F32.TF32 R{{[0-9]+}}, R{{[0-9]+}}, gdesc
  gpu.func @tf32(%map: !tf_map, %from: memref<128x16xf32>, %out: memref<64x64xf32>)
      workgroup(%tile: !tf_tile {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %b = nvgpu.warpgroup.generate.descriptor %tile, %map : !tf_tile, !tf_map -> !tf
    %line = vector.load %from[%t, %c0] : memref<128x16xf32>, vector<16xf32>
    %numbers = vector.shape_cast %line : vector<16xf32> to vector<1x8x2x1xf32>
    %a = gpux.write_fragment %numbers : vector<1x8x2x1xf32> to !tf_a
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !floats
    %sum, %done = gpux.wgmma async %a, %b, %zero {transpose_b} : !tf_a, !tf, !floats
    async.await %done
    nvgpu.warpgroup.mma.store %sum, %out : !floats to memref<64x64xf32>
    gpu.return
  }

  // F8-LABEL: .text.floats_of_8_bits:
  // F8-COUNT-4: QGMMA.64x64x32.F32.E4M3.E5M2 R{{[0-9]+}}, R{{[0-9]+}}, gdesc
  // F8-COUNT-4: QGMMA.64x64x32.F16.E5M2.E5M2 R{{[0-9]+}}, R{{[0-9]+}}, gdesc
  gpu.func @floats_of_8_bits(%map: !f8_map, %from: memref<128x64xf8E4M3FN>, %too: memref<128x64xf8E5M2>, %out: memref<64x64xf32>, %more: memref<128x32xf16>)
      workgroup(%tile: !f8_tile {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %b = nvgpu.warpgroup.generate.descriptor %tile, %map : !f8_tile, !f8_map -> !f8
    %line0 = vector.load %from[%t, %c0] : memref<128x64xf8E4M3FN>, vector<64xf8E4M3FN>
    %0 = vector.shape_cast %line0 : vector<64xf8E4M3FN> to vector<1x8x2x4xf8E4M3FN>
    %line1 = vector.load %too[%t, %c0] : memref<128x64xf8E5M2>, vector<64xf8E5M2>
    %1 = vector.shape_cast %line1 : vector<64xf8E5M2> to vector<1x8x2x4xf8E5M2>
    %a0 = gpux.write_fragment %0 : vector<1x8x2x4xf8E4M3FN> to !e4m3_a
    %a1 = gpux.write_fragment %1 : vector<1x8x2x4xf8E5M2> to !e5m2_a
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !floats
    %zeros = arith.constant dense<0.0> : vector<1x8x2x2xf16>
    %zero16 = gpux.write_fragment %zeros : vector<1x8x2x2xf16> to !halves
    %sum, %done = gpux.wgmma async %a0, %b, %zero {transpose_b} : !e4m3_a, !f8, !floats
    async.await %done
    %sum16, %done16 = gpux.wgmma async %a1, %b, %zero16 {transpose_b} : !e5m2_a, !f8, !halves
    async.await %done16
    nvgpu.warpgroup.mma.store %sum, %out : !floats to memref<64x64xf32>
    %numbers = gpux.read_fragment %sum16 : !halves to vector<1x8x2x2xf16>
    %flat = vector.shape_cast %numbers : vector<1x8x2x2xf16> to vector<32xf16>
    vector.store %flat, %more[%t, %c0] : memref<128x32xf16>, vector<32xf16>
    gpu.return
  }

  // INTEGERS-LABEL: .text.integers:
  // INTEGERS-COUNT-4: IGMMA.64x64x32.S8.S8 R{{[0-9]+}}, R{{[0-9]+}}, gdesc
  // INTEGERS-COUNT-4: IGMMA.64x64x32.U8.S8 R{{[0-9]+}}, R{{[0-9]+}}, gdesc
  gpu.func @integers(%map: !i8_map, %from: memref<128x64xi8>, %out: memref<128x32xi32>)
      workgroup(%tile: !i8_tile {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %b = nvgpu.warpgroup.generate.descriptor %tile, %map : !i8_tile, !i8_map -> !i8
    %line = vector.load %from[%t, %c0] : memref<128x64xi8>, vector<64xi8>
    %signed = vector.shape_cast %line : vector<64xi8> to vector<1x8x2x4xi8>
    %unsigned = vector.bitcast %signed : vector<1x8x2x4xi8> to vector<1x8x2x4xui8>
    %a0 = gpux.write_fragment %signed : vector<1x8x2x4xi8> to !s8_a
    %a1 = gpux.write_fragment %unsigned : vector<1x8x2x4xui8> to !u8_a
    %zeros = arith.constant dense<0> : vector<1x8x2x2xi32>
    %zero = gpux.write_fragment %zeros : vector<1x8x2x2xi32> to !integers
    %sum, %t0 = gpux.wgmma async %a0, %b, %zero {transpose_b} : !s8_a, !i8, !integers
    %all, %t1 = gpux.wgmma async %a1, %b, %sum {transpose_b} : !u8_a, !i8, !integers
    async.await %t1
    %numbers = gpux.read_fragment %all : !integers to vector<1x8x2x2xi32>
    %flat = vector.shape_cast %numbers : vector<1x8x2x2xi32> to vector<32xi32>
    vector.store %flat, %out[%t, %c0] : memref<128x32xi32>, vector<32xi32>
    gpu.return
  }
}
