// Matrices of descriptors begin at multiples of 1024 bytes. Their buffers do, as they will once the lowering has aligned them: also where
// no tile is copied, but threads fill them. A view that begins elsewhere is found, in each form.
//
// RUN: async-sim %s --kernel=filled | FileCheck %s --check-prefix=FILLED
// RUN: not async-sim %s --kernel=shifted | FileCheck %s --check-prefix=SHIFTED
// RUN: not async-sim %s --kernel=upstream | FileCheck %s --check-prefix=UPSTREAM
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --kernel=filled | FileCheck %s --check-prefix=FILLED
// RUN: not async-sim %t.counted.mlir --kernel=shifted | FileCheck %s --check-prefix=SHIFTED
//
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --kernel=filled | FileCheck %s --check-prefix=FILLED
// RUN: not async-sim %t.nvvm.mlir --kernel=shifted | FileCheck %s --check-prefix=SHIFTED
// RUN: async-opt %t.nvvm.mlir --convert-nvgpu-to-nvvm | not async-sim - --kernel=shifted | FileCheck %s --check-prefix=NVVM

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!out = memref<64x64xf32>
!rows = memref<65x64xf16, #gpu.address_space<workgroup>>
!view = memref<64x64xf16, strided<[64, 1], offset: 64>, #gpu.address_space<workgroup>>
!shifted = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, strided<[64, 1], offset: 64>, #gpu.address_space<workgroup>>>

gpu.module @kernels {
  // FILLED: clean
  gpu.func @filled(%x: !map, %out: !out) workgroup(%odd: memref<8xf16, #gpu.address_space<workgroup>>, %a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %one = arith.constant 1.0 : f16
    %tid = gpu.thread_id x
    %column = arith.remui %tid, %c64 : index
    %fills = arith.cmpi ult, %tid, %c64 : index
    scf.if %fills {
      scf.for %row = %c0 to %c64 step %c1 {
        memref.store %one, %a[%row, %column] : !tile
      }
    }
    gpu.barrier
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    async.await %t
    nvgpu.warpgroup.mma.store %e, %out : !acc to !out
    gpu.return
  }

  // SHIFTED: error: nvgpu.warpgroup.generate.descriptor: byte 128 of {{.*}} is no multiple of 1024, which the access needs
  // NVVM: error: nvvm.wgmma.mma_async: byte 128 of {{.*}} is no multiple of 1024, which the access needs
  gpu.func @shifted(%x: !map, %out: !out) workgroup(%a: !rows) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %view = memref.subview %a[1, 0] [64, 64] [1, 1] : !rows to !view
    %l = gpux.tma_load async %x[%c0, %c0], %view : !map, !view
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %view, %x : !view, !map -> !shifted
    %e, %t = gpux.wgmma async %d, %d, %z : !shifted, !shifted, !acc
    async.await %t
    nvgpu.warpgroup.mma.store %e, %out : !acc to !out
    gpu.return
  }

  // Upstream aligns nothing.
  // UPSTREAM: error: nvgpu.warpgroup.generate.descriptor: workgroup buffer %a is aligned to 16 bytes, and the access needs 1024
  gpu.func @upstream(%x: !map, %out: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e = nvgpu.warpgroup.mma %d, %d, %z {transposeB, waitGroup = 0 : i64} : <tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>, <tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>, <fragmented = vector<64x64xf32>> -> <fragmented = vector<64x64xf32>>
    nvgpu.warpgroup.mma.store %e, %out : !acc to !out
    gpu.return
  }
}
