// A load that names a warp which the block does not have: nobody would issue it. Nor does such a warp elect a thread.
//
// RUN: not async-sim %s --kernel=loads --block=64 --arg 0=ramp | FileCheck %s --check-prefix=LOADS
// RUN: async-sim %s --kernel=loads --block=96 --arg 0=ramp | FileCheck %s --check-prefix=ENOUGH
// RUN: async-sim %s --kernel=loads --block=65 --arg 0=ramp | FileCheck %s --check-prefix=ENOUGH
// RUN: not async-sim %s --kernel=tiles --arg 0=64x64:ramp | FileCheck %s --check-prefix=TILES
// RUN: not async-sim %s --kernel=elects | FileCheck %s --check-prefix=ELECTS

!row = memref<64xf32>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

// LOADS: no-such-warp.mlir:[[#@LINE+7]]:10: error: gpux.bulk_load: names warp 2, but the block has 2, which are counted from 0: no thread does it
// LOADS: not clean
// ENOUGH: loads: clean

// TILES: error: gpux.tma_load: names warp 4, but the block has 4
gpu.module @m {
  gpu.func @loads(%x: !row) workgroup(%a: !slot) kernel {
    %t = gpux.bulk_load async %x, %a {issuer = 2 : i32} : !row to !slot
    async.await %t
    gpu.return
  }

  gpu.func @tiles(%x: !map) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpux.tma_load async %x[%c0, %c0], %a {issuer = 4 : i32} : !map, !tile
    async.await %t
    gpu.return
  }

  // ELECTS: error: gpux.elect: names warp 1, but the block has 1
  gpu.func @elects() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = gpux.elect {warp = 1 : i32}
    gpu.return
  }
}
