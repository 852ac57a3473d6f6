// Accumulators that take turns while they are in flight: the loop is unrolled until each is in its place again, so that nothing is moved, and
// ptxas has nothing to say. The iterations that are left over wait.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" -o %t.mlir
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=TWO
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=THREE

// SILENT-NOT: {{.}}

// TWO: .text.two:
// TWO: HGMMA
// TWO: [[LOOP:.L_x_[0-9]+]]:
// TWO-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// TWO: HGMMA.64x64x16.F32 [[A:R[0-9]+]], {{.*}}, [[A]] ;
// TWO-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// TWO: WARPGROUP.DEPBAR.LE gsb0, 0x1
// TWO-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// TWO: HGMMA.64x64x16.F32 [[B:R[0-9]+]], {{.*}}, [[B]] ;
// TWO-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// TWO: WARPGROUP.DEPBAR.LE gsb0, 0x1
// TWO-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// TWO: BRA `([[LOOP]])
// TWO: WARPGROUP.DEPBAR.LE gsb0, 0x0
// TWO: HGMMA
// TWO: WARPGROUP.DEPBAR.LE gsb0, 0x0

// THREE: .text.three:
// THREE: HGMMA
// THREE: [[LOOP:.L_x_[0-9]+]]:
// THREE-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// THREE: WARPGROUP.DEPBAR.LE gsb0, 0x2
// THREE-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// THREE: WARPGROUP.DEPBAR.LE gsb0, 0x2
// THREE-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// THREE: WARPGROUP.DEPBAR.LE gsb0, 0x2
// THREE-NOT: MOV{{[^;]*}}, R{{[0-9]+}} ;
// THREE: BRA `([[LOOP]])

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @k {
  gpu.func @two(%x: !map, %n: index, %out0: memref<64x64xf32>, %out1: memref<64x64xf32>) workgroup(%a: !tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %loaded = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %loaded
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %zero0 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %zero1 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first, %t0 = gpux.wgmma async %d, %d, %zero0 : !m, !m, !acc
    %r0, %r1, %last = scf.for %i = %c0 to %n step %c1 iter_args(%inflight = %first, %complete = %zero1, %t = %t0)
        -> (!acc, !acc, !async.token) {
      %next, %u = gpux.wgmma async %d, %d, %complete : !m, !m, !acc
      async.await %t
      scf.yield %next, %inflight, %u : !acc, !acc, !async.token
    }
    async.await %last
    nvgpu.warpgroup.mma.store %r0, %out0 : !acc to memref<64x64xf32>
    nvgpu.warpgroup.mma.store %r1, %out1 : !acc to memref<64x64xf32>
    gpu.return
  }

  // Two of three are in flight.
  gpu.func @three(%x: !map, %n: index, %out0: memref<64x64xf32>, %out1: memref<64x64xf32>, %out2: memref<64x64xf32>)
      workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a_loaded = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    %b_loaded = gpux.tma_load async %x[%c0, %c0], %b : !map, !tile
    async.await %a_loaded, %b_loaded
    %e = nvgpu.warpgroup.generate.descriptor %b, %x : !tile, !map -> !m
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %zero0 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %zero1 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %zero2 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first, %t0 = gpux.wgmma async %d, %d, %zero0 : !m, !m, !acc
    %second, %t1 = gpux.wgmma async %e, %d, %zero1 : !m, !m, !acc
    %r0, %r1, %r2, %u0, %u1 = scf.for %i = %c0 to %n step %c1
        iter_args(%older = %first, %newer = %second, %complete = %zero2, %t = %t0, %u = %t1)
        -> (!acc, !acc, !acc, !async.token, !async.token) {
      %next, %v = gpux.wgmma async %d, %d, %complete : !m, !m, !acc
      async.await %t
      scf.yield %newer, %next, %older, %u, %v : !acc, !acc, !acc, !async.token, !async.token
    }
    async.await %u0, %u1
    nvgpu.warpgroup.mma.store %r0, %out0 : !acc to memref<64x64xf32>
    nvgpu.warpgroup.mma.store %r1, %out1 : !acc to memref<64x64xf32>
    nvgpu.warpgroup.mma.store %r2, %out2 : !acc to memref<64x64xf32>
    gpu.return
  }
}
