// Zeros that a loop begins with are written before the fence of its first multiplication, also where LLVM takes the loop apart.

// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" -o %t.mlir
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: FileCheck %s --input-file %t.ptx

// SILENT-NOT: {{.}}

// CHECK: mov.b32
// CHECK: wgmma.fence.sync.aligned
// CHECK-NOT: mov.b32
// CHECK: wgmma.mma_async

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @k {
  gpu.func @f(%x: !map, %flag: i1, %out: memref<64x64xf32>) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ta = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %ta
    %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %n = arith.select %flag, %c1, %c0 : index
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%p = %z) -> !acc {
      %d, %t = gpux.wgmma async %da, %da, %p : !m, !m, !acc
      async.await %t
      scf.yield %d : !acc
    }
    nvgpu.warpgroup.mma.store %s, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
