// What tiles hold: elements that are out of bounds, several boxes in one memref, swizzles, and what a store writes.
//
// RUN: async-sim %s --kernel=out_of_bounds --arg 0=2x16:ramp --print | FileCheck %s --check-prefix=OOB
// RUN: async-sim %s --kernel=not_a_number --arg 0=2x16:ramp --print | FileCheck %s --check-prefix=NAN
// RUN: async-sim %s --kernel=boxes --arg 0=5x32:ramp --print | FileCheck %s --check-prefix=BOXES
// RUN: async-sim %s --kernel=swizzle --arg 0=16x64:ramp --print | FileCheck %s --check-prefix=SWIZZLE
// RUN: async-sim %s --kernel=swizzle_back --arg 0=16x64:ramp --arg 1=16x64:zero --print | FileCheck %s --check-prefix=BACK
// RUN: async-sim %s --kernel=narrow_swizzle --arg 0=8x16:ramp --print | FileCheck %s --check-prefix=NARROW
// RUN: async-sim %s --kernel=store --arg 0=3x16:zero --print | FileCheck %s --check-prefix=STORE
// RUN: async-sim %s --kernel=part_of_a_tile --arg 0=3x16:zero --print | FileCheck %s --check-prefix=PART
// RUN: async-sim %s --kernel=shared --arg 0=4x8:ramp --arg 1=@0 --arg 2=8x4:@0 --print | FileCheck %s --check-prefix=SHARED
// RUN: async-sim %s --kernel=shared --arg 0=4x8:ramp --arg 1=@0 --arg 2=8x4:@0 --out 0=%t.npy
// RUN: not async-sim %s --kernel=store --arg 0=3x10:zero 2>&1 | FileCheck %s --check-prefix=PITCH
// RUN: not async-sim %s --kernel=misaligned | FileCheck %s --check-prefix=ALIGN
// RUN: not async-sim %s --kernel=shared --arg 0=1x8:ramp --arg 1=@0 2>&1 | FileCheck %s --check-prefix=TOO-FEW

!tile = !nvgpu.tensormap.descriptor<tensor = memref<2x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!nan = !nvgpu.tensormap.descriptor<tensor = memref<2x8xf16, 3>, swizzle = none, l2promo = none, oob = nan, interleave = none>
!wide = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!narrow = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf16, 3>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = none>
!rows = !nvgpu.tensormap.descriptor<tensor = memref<2x32xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!at = memref<2x8xf16, #gpu.address_space<workgroup>>

gpu.module @tiles {
  // Rows 1 and 2, columns -1 to 6, and rows 0 and 1, columns 12 to 19, of a tensor of 2 by 16.
  // OOB: argument 1: 0 16 17 18 19 20 21 22 0 0 0 0 0 0 0 0
  // OOB: argument 2: 12 13 14 15 0 0 0 0 28 29 30 31 0 0 0 0
  gpu.func @out_of_bounds(%x: !tile, %y: memref<2x8xf16>, %z: memref<2x8xf16>) workgroup(%a: !at, %b: !at) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %before = arith.constant -1 : index
    %t0 = gpux.tma_load async %x[%c1, %before], %a : !tile, !at
    %t1 = gpux.tma_load async %x[%c0, %c12], %b : !tile, !at
    async.await %t0, %t1
    %r0, %d0 = gpux.bulk_store async %a, %y : !at to memref<2x8xf16>
    %r1, %d1 = gpux.bulk_store async [%t0] %b, %z : !at to memref<2x8xf16>
    async.await %d0, %d1
    gpu.return
  }

  // NAN: argument 1: NaN 16 17 18 19 20 21 22 NaN NaN NaN NaN NaN NaN NaN NaN
  gpu.func @not_a_number(%x: !nan, %y: memref<2x8xf16>) workgroup(%a: !at) kernel {
    %c1 = arith.constant 1 : index
    %before = arith.constant -1 : index
    %t0 = gpux.tma_load async %x[%c1, %before], %a : !nan, !at
    %r0, %d0 = gpux.bulk_store async [%t0] %a, %y : !at to memref<2x8xf16>
    async.await %d0
    gpu.return
  }

  // Six rows in boxes of two, the last one out of bounds.
  // BOXES: argument 1: 0 1 2 3 4 5 6 7 8
  // BOXES-SAME: 158 159 0 0 0 0 0 0 0 0 {{[0 ]*}}{{$}}
  gpu.func @boxes(%x: !rows, %y: memref<6x32xf16>) workgroup(%a: memref<6x32xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t0 = gpux.tma_load async %x[%c0, %c0], %a : !rows, memref<6x32xf16, #gpu.address_space<workgroup>>
    %r0, %d0 = gpux.bulk_store async [%t0] %a, %y : memref<6x32xf16, #gpu.address_space<workgroup>> to memref<6x32xf16>
    async.await %d0
    gpu.return
  }

  // Rows of 128 bytes: row 1 has its chunks of 8 numbers in the order 1 0 3 2 5 4 7 6, and row 8 begins anew.
  // SWIZZLE: argument 1: 0 1 2 {{.*}} 61 62 63 72 73 74 75 76 77 78 79 64 65 66 67 68 69 70 71 88 89
  // SWIZZLE: argument 2: 0 72 144 216 288 360 432 504 512 584 656 728 800 872 944 1016
  gpu.func @swizzle(%x: !wide, %y: memref<16x64xf16>, %z: memref<16xf16>)
      workgroup(%a: memref<16x64xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %t0 = gpux.tma_load async %x[%c0, %c0], %a : !wide, memref<16x64xf16, #gpu.address_space<workgroup>>
    %r0, %d0 = gpux.bulk_store async [%t0] %a, %y : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<16x64xf16>
    scf.for %i = %c0 to %c16 step %c1 {
      %v = memref.load %a[%i, %c0] : memref<16x64xf16, #gpu.address_space<workgroup>>
      memref.store %v, %z[%i] : memref<16xf16>
    }
    async.await %d0
    gpu.return
  }

  // What goes out the same way is in order again.
  // BACK: argument 0: [[ALL:.*]]
  // BACK: argument 1: [[ALL]]
  gpu.func @swizzle_back(%x: !wide, %y: !wide)
      workgroup(%a: memref<16x64xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t0 = gpux.tma_load async %x[%c0, %c0], %a : !wide, memref<16x64xf16, #gpu.address_space<workgroup>>
    %r0, %d0 = gpux.tma_store async [%t0] %a, %y[%c0, %c0] : memref<16x64xf16, #gpu.address_space<workgroup>>, !wide
    async.await %d0
    gpu.return
  }

  // Rows of 32 bytes: the fifth to eighth have their two chunks the other way round.
  // NARROW: argument 1: 0 16 32 48 72 88 104 120
  gpu.func @narrow_swizzle(%x: !narrow, %z: memref<8xf16>)
      workgroup(%a: memref<8x16xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %t0 = gpux.tma_load async %x[%c0, %c0], %a : !narrow, memref<8x16xf16, #gpu.address_space<workgroup>>
    async.await %t0
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %a[%i, %c0] : memref<8x16xf16, #gpu.address_space<workgroup>>
      memref.store %v, %z[%i] : memref<8xf16>
    }
    gpu.return
  }

  // Elements that are out of bounds are not written. No tensor has rows that are 20 bytes apart.
  // PITCH: async-sim: argument 0: the stride of dimension 0 of the tensor is 20 bytes, and cuTensorMapEncodeTiled takes multiples of 16 only
  // STORE: argument 0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1
  gpu.func @store(%y: !tile) workgroup(%a: !at) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c11 = arith.constant 11 : index
    %one = arith.constant 1.0 : f16
    scf.for %i = %c0 to %c2 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        memref.store %one, %a[%i, %j] : !at
      }
    }
    %read, %done = gpux.tma_store async %a, %y[%c2, %c11] : !at, !tile
    async.await %read
    gpu.return
  }

  // What is out of bounds is stored nowhere, so it need not be there.
  // PART: part_of_a_tile: clean
  // PART: argument 0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1
  gpu.func @part_of_a_tile(%y: !tile) workgroup(%a: !at) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c11 = arith.constant 11 : index
    %one = arith.constant 1.0 : f16
    scf.for %j = %c0 to %c5 step %c1 {
      memref.store %one, %a[%c0, %j] : !at
    }
    %read, %done = gpux.tma_store async %a, %y[%c2, %c11] : !at, !tile
    async.await %read
    gpu.return
  }

  // The tensor of one descriptor is that of another, and a memref.
  // SHARED: argument 0: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3
  // SHARED: argument 1: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3
  // SHARED: argument 2: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3
  // TOO-FEW: shared: the type of argument 2 leaves sizes open
  gpu.func @shared(%x: !tile, %y: !tile, %z: memref<?x4xf16>) workgroup(%a: !at) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %t0 = gpux.tma_load async %x[%c0, %c0], %a : !tile, !at
    %r0, %d0 = gpux.tma_store async [%t0] %a, %y[%c2, %c0] : !at, !tile
    async.await %d0
    gpu.return
  }

  // ALIGN: error: gpux.tma_load: byte 32 of workgroup buffer %a is no multiple of 128, which the access needs
  gpu.func @misaligned(%x: !tile) workgroup(%a: memref<4x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %at = memref.subview %a[%c2, 0] [2, 8] [1, 1] : memref<4x8xf16, #gpu.address_space<workgroup>>
        to memref<2x8xf16, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>
    %t0 = gpux.tma_load async %x[%c0, %c0], %at
        : !tile, memref<2x8xf16, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>
    async.await %t0
    gpu.return
  }
}
