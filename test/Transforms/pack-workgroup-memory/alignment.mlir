// Offsets are aligned to what is done with a buffer: 1024 bytes for swizzled tiles, 128 for others and what ldmatrix reads, 16
// for copies, and 4 for four bytes. The allocation is aligned to the largest of these.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory=share=none -o %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=IR --input-file %t.mlir

!Swizzled = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!Plain = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!Small = !nvgpu.tensormap.descriptor<tensor = memref<2x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!SmallTile = memref<2x8xf32, #gpu.address_space<workgroup>>
!Tile = memref<8x32xf32, #gpu.address_space<workgroup>>
!Flag = memref<1xi32, #gpu.address_space<workgroup>>
!Matrix = memref<8x8xf16, #gpu.address_space<workgroup>>
!Source = memref<64xf32>
!Copy = memref<4xf32, #gpu.address_space<workgroup>>
!Bytes = memref<22xi8, #gpu.address_space<workgroup>>
!Stated = memref<2xi8, #gpu.address_space<workgroup>>

// CHECK: remark: packs 7 buffers of 2202 bytes into 2208 bytes of static workgroup memory
// CHECK-NEXT: gpu.func
// CHECK: note: bytes 0 to 1024: workgroup attribution 1
// CHECK: note: bytes 1024 to 2048: workgroup attribution 2
// CHECK: note: bytes 2048 to 2176: workgroup attribution 3
// CHECK: note: bytes 2176 to 2178: workgroup attribution 6
// CHECK: note: bytes 2180 to 2184: workgroup attribution 0
// CHECK: note: bytes 2184 to 2188: workgroup attribution 5
// CHECK: note: bytes 2192 to 2208: workgroup attribution 4
//
// Two tiles of 64 bytes are 128 bytes apart.
// CHECK: remark: packs 2 buffers of 128 bytes into 192 bytes of static workgroup memory
//
// IR: memref.global "private" @__wg_kernel : memref<2208xi8, #gpu.address_space<workgroup>> = uninitialized {alignment = 1024 : i64}
// IR: memref.global "private" @__wg_small_tiles : memref<192xi8, #gpu.address_space<workgroup>> = uninitialized {alignment = 128 : i64}
// IR: memref.global "private" @__wg_bytes : memref<54xi8, #gpu.address_space<workgroup>> = uninitialized {alignment = 16 : i64}
gpu.module @kernels {
  gpu.func @kernel(%swizzled: !Swizzled, %plain: !Plain, %src: !Source, %n: i32, %b: i8)
      workgroup(%flag: !Flag, %a: !Tile, %c: !Tile, %m: !Matrix, %d: !Copy, %e: !Flag, %f: !Stated {llvm.align = 32 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %t0 = gpux.tma_load async %swizzled[%c0, %c0], %a : !Swizzled, !Tile
    %t1 = gpux.tma_load async %plain[%c0, %c0], %c : !Plain, !Tile
    %t2 = gpux.copy async %src[%c0], %d[%c0], 4 : !Source to !Copy
    memref.store %n, %flag[%c0] : !Flag
    memref.store %n, %e[%c0] : !Flag
    memref.store %b, %f[%c0] : !Stated
    async.await %t0, %t1, %t2
    %x = nvgpu.ldmatrix %m[%c0, %c0] {numTiles = 1 : i32, transpose = false} : !Matrix -> vector<1x2xf16>
    gpu.return
  }

  gpu.func @small_tiles(%plain: !Small) workgroup(%a: !SmallTile, %c: !SmallTile) kernel {
    %c0 = arith.constant 0 : index
    %t0 = gpux.tma_load async %plain[%c0, %c0], %a : !Small, !SmallTile
    %t1 = gpux.tma_load async %plain[%c0, %c0], %c : !Small, !SmallTile
    async.await %t0, %t1
    gpu.return
  }

  // Bytes that are used as numbers are aligned as these.
  gpu.func @bytes(%out: memref<4xf32>) workgroup(%a: !Bytes, %c: !Bytes) kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %zero = arith.constant 0.0 : f32
    %first = memref.view %a[%c0][] : !Bytes to !Copy
    %second = memref.view %c[%c0][] : !Bytes to !Copy
    memref.store %zero, %first[%t] : !Copy
    memref.store %zero, %second[%t] : !Copy
    %x = memref.load %first[%t] : !Copy
    %y = memref.load %second[%t] : !Copy
    %sum = arith.addf %x, %y : f32
    memref.store %sum, %out[%t] : memref<4xf32>
    gpu.return
  }
}
