// nvgpu.warpgroup.* means what upstream lowers it to: both forms wait for the same and store the same.
//
// RUN: async-sim %s --arg 0=random --arg 1=random --out 3=%t.form.npy | FileCheck %s
// RUN: async-opt %s --convert-nvgpu-to-nvvm -o %t.mlir
// RUN: async-sim %t.mlir --arg 0=random --arg 1=random --out 3=%t.lowered.npy | FileCheck %s
// RUN: cmp %t.form.npy %t.lowered.npy
// RUN: async-sim %t.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s
// RUN: sed '/aligned 0/d' %t.mlir | not async-sim - --arg 0=random --arg 1=random --refines=%s | FileCheck %s --check-prefix=LESS

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!a = memref<128x64xf16, 3>
!b = memref<64x128xf16, 3>
!matrix_a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!matrix_b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

gpu.module @nvgpu {
  // Two blocks of rows and two boxes of B, one multiplication in flight while the next one is issued. The loop is not lowered, and
  // has casts around it.
  // CHECK: two_blocks: clean
  // LESS: error: memref.store at {{.*}} is reached while a copy may be in flight
  gpu.func @two_blocks(%a: !a, %b: !b, %map: !map, %out: memref<128x128xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !a, !map -> !matrix_a
    %db = nvgpu.warpgroup.generate.descriptor %b, %map : !b, !map -> !matrix_b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %e = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %c) -> !acc {
      %d = nvgpu.warpgroup.mma %da, %db, %sum {transposeB} : !matrix_a, !matrix_b, !acc -> !acc
      scf.yield %d : !acc
    }
    nvvm.wgmma.wait.group.sync.aligned 0
    nvgpu.warpgroup.mma.store %e, %out : !acc to memref<128x128xf32>
    gpu.return
  }
}
