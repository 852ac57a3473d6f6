// Tiles need memory that is aligned to 128 bytes, bulk copies to 16, wherever it is.
//
// RUN: async-opt %s --verify-diagnostics --gpux-to-nvvm | FileCheck %s

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!shared = memref<64x32xf16, 3>

// Dynamic memory has no symbol yet: the module says it, for --legalize-for-ptx.
// CHECK: gpu.module @kernels attributes {gpux.dynamic_alignment = 128 : i64}
gpu.module @kernels {
  // CHECK: memref.global "private" @tiles : memref<128x32xf16, 3> {alignment = 128 : i64}
  memref.global "private" @tiles : memref<128x32xf16, 3>
  // CHECK: memref.global "private" @aligned : memref<64x32xf16, 3> {alignment = 1024 : i64}
  memref.global "private" @aligned : memref<64x32xf16, 3> {alignment = 1024}
  // CHECK: memref.global "private" @line : memref<64xf32, 3> {alignment = 16 : i64}
  memref.global "private" @line : memref<64xf32, 3>

  gpu.func @kernel(%tensor: !tile, %dst: memref<64xf32>, %i: index) kernel {
    %tiles = memref.get_global @tiles : memref<128x32xf16, 3>
    %view = memref.subview %tiles[%i, 0] [64, 32] [1, 1] : memref<128x32xf16, 3> to memref<64x32xf16, strided<[32, 1], offset: ?>, 3>
    gpux.tma_store %view, %tensor[%i, %i] : memref<64x32xf16, strided<[32, 1], offset: ?>, 3>, !tile
    %aligned = memref.get_global @aligned : !shared
    gpux.tma_store %aligned, %tensor[%i, %i] : !shared, !tile
    %line = memref.get_global @line : memref<64xf32, 3>
    gpux.bulk_store %line, %dst : memref<64xf32, 3> to memref<64xf32>
    gpu.return
  }

  gpu.func @dynamic(%tensor: !tile, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64x32xf16, #gpu.address_space<workgroup>>
    gpux.tma_store %tile, %tensor[%i, %i] : memref<64x32xf16, #gpu.address_space<workgroup>>, !tile
    gpu.return
  }
}

func.func @outside(%tensor: !tile, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{the memory is here}}
  %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
  %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64x32xf16, #gpu.address_space<workgroup>>
  // expected-warning @+1 {{'gpux.tma_store' op needs memory that is aligned to 128 bytes, but dynamic workgroup memory outside of a gpu.module is aligned to 16}}
  gpux.tma_store %tile, %tensor[%i, %i] : memref<64x32xf16, #gpu.address_space<workgroup>>, !tile
  return
}
