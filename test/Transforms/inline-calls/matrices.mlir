// The matrices that a warpgroup multiplies stay in one function: what takes or returns their accumulators or descriptors stands where it is
// called.
//
// RUN: async-opt %s --gpux-inline-calls | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm=chip=sm_90a -o /dev/null

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @helpers {
  // CHECK-NOT: func.func
  func.func @describe(%tile: !tile, %map: !map) -> !m {
    %a = nvgpu.warpgroup.generate.descriptor %tile, %map : !tile, !map -> !m
    return %a : !m
  }
  func.func private @multiply(%a: !m, %out: memref<64x64xf32>) {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    async.await %t
    func.call @store(%d, %out) : (!acc, memref<64x64xf32>) -> ()
    return
  }
  func.func private @store(%d: !acc, %out: memref<64x64xf32>) {
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
    return
  }

  // CHECK: gpu.func @kernel
  // CHECK: nvgpu.warpgroup.generate.descriptor
  // CHECK: gpux.wgmma async
  // CHECK: nvgpu.warpgroup.mma.store
  // CHECK-NOT: call
  gpu.func @kernel(%map: !map, %out: memref<64x64xf32>) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = func.call @describe(%tile, %map) : (!tile, !map) -> !m
    func.call @multiply(%a, %out) : (!m, memref<64x64xf32>) -> ()
    gpu.return
  }
}
