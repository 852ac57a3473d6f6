// Multiplications of warpgroups, to machine code: ptxas has nothing to say of them (it says so when it serializes them), the counts
// are the exact ones, and no accumulator is moved.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory --gpux-lower-to-nvvm="chip=sm_90a format=isa" -o %t.mlir
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: nvdisasm %t.cubin > %t.sass
// RUN: FileCheck %s --input-file %t.sass --check-prefix=SASS
// RUN: FileCheck %s --input-file %t.sass --check-prefix=TYPES
// RUN: FileCheck %s --input-file %t.sass --check-prefix=MORE

// SILENT-NOT: {{.}}

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!btile = memref<128x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bmap = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!bmatrix = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
!f8a_tile = memref<64x128xf8E4M3FN, #gpu.address_space<workgroup>>
!f8a_map = !nvgpu.tensormap.descriptor<tensor = memref<64x128xf8E4M3FN, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!f8a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E4M3FN, #gpu.address_space<workgroup>>>
!f8b_tile = memref<8x128xf8E5M2, #gpu.address_space<workgroup>>
!f8b_map = !nvgpu.tensormap.descriptor<tensor = memref<8x128xf8E5M2, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!f8b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xf8E5M2, #gpu.address_space<workgroup>>>
!tf_tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!tf_map = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tf = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, #gpu.address_space<workgroup>>>
!tfb_tile = memref<8x32xf32, #gpu.address_space<workgroup>>
!tfb_map = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tfb = !nvgpu.warpgroup.descriptor<tensor = memref<8x32xf32, #gpu.address_space<workgroup>>>
!bf_tile = memref<32x64xbf16, #gpu.address_space<workgroup>>
!bf_map = !nvgpu.tensormap.descriptor<tensor = memref<32x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bf = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, #gpu.address_space<workgroup>>>
!narrow = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!i8a_tile = memref<64x128xi8, #gpu.address_space<workgroup>>
!i8a_map = !nvgpu.tensormap.descriptor<tensor = memref<64x128xi8, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!i8a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, #gpu.address_space<workgroup>>>
!i8b_tile = memref<24x128xi8, #gpu.address_space<workgroup>>
!i8b_map = !nvgpu.tensormap.descriptor<tensor = memref<24x128xi8, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!i8b = !nvgpu.warpgroup.descriptor<tensor = memref<24x128xi8, #gpu.address_space<workgroup>>>
!integers = !nvgpu.warpgroup.accumulator<fragmented = vector<64x24xi32>>
!halves = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!fragment = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xbf16>>
!square = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @wgmma {
  // The matrices lie in one loop, of two slots: a step is issued before the products of the step before are awaited, whose slot is
  // filled again then. The four instructions of a step are one group, and one stays in flight.
  // SASS-LABEL: .text.gemm:
  // SASS: SYNCS.PHASECHK.TRANS64.TRYWAIT
  // SASS: WARPGROUP.ARRIVE
  // SASS: HGMMA.64x128x16.F32
  // SASS-COUNT-2: HGMMA.64x128x16.F32
  // SASS-NEXT: HGMMA.64x128x16.F32 {{.*}}gsb0
  // SASS-NEXT: WARPGROUP.DEPBAR.LE gsb0, 0x1
  // SASS-NEXT: BAR.SYNC
  // SASS: UTMALDG.2D
  // SASS-NOT: {{DEPBAR|BAR.SYNC}}
  // SASS: WARPGROUP.DEPBAR.LE gsb0, 0x0
  // SASS-NOT: WARPGROUP.DEPBAR
  gpu.func @gemm(%map_a: !map, %map_b: !bmap, %k: index, %out: memref<64x128xf32>)
      workgroup(%as: memref<2x64x64xf16, #gpu.address_space<workgroup>>, %bs: memref<2x128x64xf16, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %a0 = memref.subview %as[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !tile
    %b0 = memref.subview %bs[0, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #gpu.address_space<workgroup>> to !btile
    %ta = gpux.tma_load async %map_a[%c0, %c0], %a0 : !map, !tile
    %tb = gpux.tma_load async %map_b[%c0, %c0], %b0 : !bmap, !btile
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %ready = async.ready
    %d, %last, %la, %lb = scf.for %i = %c0 to %k step %c1 iter_args(%sum = %c, %before = %ready, %fa = %ta, %fb = %tb) -> (!acc, !async.token, !async.token, !async.token) {
      %slot = arith.andi %i, %c1 : index
      %other = arith.subi %c1, %slot : index
      %a = memref.subview %as[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      %b = memref.subview %bs[%slot, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      %an = memref.subview %as[%other, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      %bn = memref.subview %bs[%other, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      async.await %fa, %fb
      %da = nvgpu.warpgroup.generate.descriptor %a, %map_a : memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
      %db = nvgpu.warpgroup.generate.descriptor %b, %map_b : memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, !bmap -> !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>
      %e, %t = gpux.wgmma async %da, %db, %sum {transpose_b} : !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>, !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>>, !acc
      async.await %before
      %next = arith.addi %i, %c1 : index
      %col = arith.muli %next, %c64 : index
      %ra = gpux.tma_load async %map_a[%c0, %col], %an : !map, memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      %rb = gpux.tma_load async %map_b[%c0, %col], %bn : !bmap, memref<128x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
      scf.yield %e, %t, %ra, %rb : !acc, !async.token, !async.token, !async.token
    }
    async.await %last
    async.await %la, %lb
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x128xf32>
    gpu.return
  }

  // TYPES-LABEL: .text.types:
  // TYPES-COUNT-4: QGMMA.64x8x32.F32.E4M3.E5M2
  // TYPES-COUNT-4: HGMMA.64x8x8.F32.TF32
  // TYPES-COUNT-2: HGMMA.64x64x16.F32.BF16
  gpu.func @types(%f8a_map: !f8a_map, %f8b_map: !f8b_map, %tf_map: !tf_map, %tfb_map: !tfb_map, %bf_map: !bf_map, %out: memref<64x8xf32>, %more: memref<64x64xf32>)
      workgroup(%f8a_tile: !f8a_tile {llvm.align = 1024 : i64}, %f8b_tile: !f8b_tile {llvm.align = 1024 : i64}, %tf_tile: !tf_tile {llvm.align = 1024 : i64}, %tfb_tile: !tfb_tile {llvm.align = 1024 : i64}, %bf_tile: !bf_tile {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f8a = nvgpu.warpgroup.generate.descriptor %f8a_tile, %f8a_map : !f8a_tile, !f8a_map -> !f8a
    %f8b = nvgpu.warpgroup.generate.descriptor %f8b_tile, %f8b_map : !f8b_tile, !f8b_map -> !f8b
    %tf = nvgpu.warpgroup.generate.descriptor %tf_tile, %tf_map : !tf_tile, !tf_map -> !tf
    %tfb = nvgpu.warpgroup.generate.descriptor %tfb_tile, %tfb_map : !tfb_tile, !tfb_map -> !tfb
    %bf = nvgpu.warpgroup.generate.descriptor %bf_tile, %bf_map : !bf_tile, !bf_map -> !bf
    %c = nvgpu.warpgroup.mma.init.accumulator -> !narrow
    %s = nvgpu.warpgroup.mma.init.accumulator -> !square
    %0, %t0 = gpux.wgmma async %f8a, %f8b, %c {transpose_b} : !f8a, !f8b, !narrow
    %1, %t1 = gpux.wgmma async %tf, %tfb, %0 {transpose_b} : !tf, !tfb, !narrow
    %2, %t2 = gpux.wgmma async %bf, %bf, %s {transpose_a} : !bf, !bf, !square
    async.await %t0, %t1, %t2
    nvgpu.warpgroup.mma.store %1, %out : !narrow to memref<64x8xf32>
    nvgpu.warpgroup.mma.store %2, %more : !square to memref<64x64xf32>
    gpu.return
  }

  // Sums of f16 and of integers, and A from registers.
  // MORE-LABEL: .text.more_types:
  // MORE-COUNT-4: IGMMA.64x24x32.S8.S8
  // MORE-COUNT-4: HGMMA.64x64x16.F16 R{{[0-9]+}}, gdesc
  // MORE-COUNT-4: HGMMA.64x64x16.F32.BF16 R{{[0-9]+}}, R{{[0-9]+}}, gdesc
  gpu.func @more_types(%i8a_map: !i8a_map, %i8b_map: !i8b_map, %map: !map, %bf_map: !bf_map, %from: memref<64x8x2x2xbf16>, %out: memref<3x2x2xi32>, %more: memref<8x2x2xf16>, %last: memref<64x64xf32>)
      workgroup(%i8a_tile: !i8a_tile {llvm.align = 1024 : i64}, %i8b_tile: !i8b_tile {llvm.align = 1024 : i64}, %tile: !tile {llvm.align = 1024 : i64}, %bf_tile: memref<64x64xbf16, #gpu.address_space<workgroup>> {llvm.align = 1024 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %i8a = nvgpu.warpgroup.generate.descriptor %i8a_tile, %i8a_map : !i8a_tile, !i8a_map -> !i8a
    %i8b = nvgpu.warpgroup.generate.descriptor %i8b_tile, %i8b_map : !i8b_tile, !i8b_map -> !i8b
    %matrix = nvgpu.warpgroup.generate.descriptor %tile, %map : !tile, !map -> !matrix
    %bf = nvgpu.warpgroup.generate.descriptor %bf_tile, %bf_map : memref<64x64xbf16, #gpu.address_space<workgroup>>, !bf_map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>>
    %sevens = arith.constant dense<7> : vector<1x3x2x2xi32>
    %zeros = arith.constant dense<0.0> : vector<1x8x2x2xf16>
    %i = gpux.write_fragment %sevens : vector<1x3x2x2xi32> to !integers
    %h = gpux.write_fragment %zeros : vector<1x8x2x2xf16> to !halves
    %s = nvgpu.warpgroup.mma.init.accumulator -> !square
    %zero = arith.constant 0.0 : bf16
    %t = gpu.lane_id
    %numbers = vector.transfer_read %from[%t, %c0, %c0, %c0], %zero {in_bounds = [true, true, true, true]} : memref<64x8x2x2xbf16>, vector<1x8x2x2xbf16>
    %a = gpux.write_fragment %numbers : vector<1x8x2x2xbf16> to !fragment
    %0, %t0 = gpux.wgmma async %i8a, %i8b, %i {transpose_b} : !i8a, !i8b, !integers
    async.await %t0
    %1, %t1 = gpux.wgmma async %matrix, %matrix, %h : !matrix, !matrix, !halves
    async.await %t1
    %2, %t2 = gpux.wgmma async %a, %bf, %s : !fragment, !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>>, !square
    async.await %t2
    %n0 = gpux.read_fragment %0 : !integers to vector<1x3x2x2xi32>
    %n1 = gpux.read_fragment %1 : !halves to vector<1x8x2x2xf16>
    %v0 = vector.shape_cast %n0 : vector<1x3x2x2xi32> to vector<3x2x2xi32>
    %v1 = vector.shape_cast %n1 : vector<1x8x2x2xf16> to vector<8x2x2xf16>
    vector.transfer_write %v0, %out[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<3x2x2xi32>, memref<3x2x2xi32>
    vector.transfer_write %v1, %more[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<8x2x2xf16>, memref<8x2x2xf16>
    nvgpu.warpgroup.mma.store %2, %last : !square to memref<64x64xf32>
    gpu.return
  }
}
