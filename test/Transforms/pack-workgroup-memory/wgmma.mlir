// A multiplication of a warpgroup uses its matrices until it is awaited: what is allocated after that may have their bytes, and what is
// written while it runs may not. Matrices begin at multiples of 1024 bytes, where the pattern of the swizzle does.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory 2>/dev/null | FileCheck %s

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!floats = memref<256xf32, #gpu.address_space<workgroup>>
!row = memref<16xf32, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// 8192 bytes for A, which `after` shares, and 1024 bytes for `during`, at a multiple of that.
// CHECK: memref.global "private" @{{.*}} : memref<9216xi8, #gpu.address_space<workgroup>> = uninitialized {alignment = 1024 : i64}
// CHECK-LABEL: gpu.func @lives
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[A:.*]] = memref.view %{{.*}}[%[[C0]]][] : memref<9216xi8, #gpu.address_space<workgroup>> to memref<64x64xf16
// CHECK-DAG: %[[DURING:.*]] = memref.view %{{.*}}[%c8192][] : memref<9216xi8, #gpu.address_space<workgroup>> to memref<256xf32
// CHECK-DAG: %[[AFTER:.*]] = memref.view %{{.*}}[%c0{{.*}}][] : memref<9216xi8, #gpu.address_space<workgroup>> to memref<16xf32
gpu.module @m {
  gpu.func @lives(%map: !map, %x: memref<256xf32>, %y: memref<256xf32>) workgroup(%a: !tile, %during: !floats, %after: !row) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %thread = gpu.thread_id x
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %loaded = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %loaded
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %d, %t = gpux.wgmma async %da, %da, %c : !matrix, !matrix, !acc
    %v = memref.load %x[%thread] : memref<256xf32>
    memref.store %v, %during[%thread] : !floats
    %again = memref.load %during[%thread] : !floats
    memref.store %again, %y[%thread] : memref<256xf32>
    async.await %t
    %i = arith.remui %thread, %c16 : index
    memref.store %v, %after[%i] : !row
    %w = memref.load %after[%i] : !row
    memref.store %w, %y[%thread] : memref<256xf32>
    gpu.return
  }

  // Upstream's multiplication may go on after the operation: nothing shares its matrix.
  // CHECK-LABEL: gpu.func @of_upstream
  // CHECK-DAG: memref.view %{{.*}}[%c0{{.*}}][] : memref<8256xi8, {{.*}}> to memref<64x64xf16
  // CHECK-DAG: memref.view %{{.*}}[%c8192{{.*}}][] : memref<8256xi8, {{.*}}> to memref<16xf32
  gpu.func @of_upstream(%map: !map, %y: memref<256xf32>) workgroup(%a: !tile, %after: !row) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %v = arith.constant 1.0 : f32
    %thread = gpu.thread_id x
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %loaded = gpux.tma_load async %map[%c0, %c0], %a : !map, !tile
    async.await %loaded
    %da = nvgpu.warpgroup.generate.descriptor %a, %map : !tile, !map -> !matrix
    %d = nvgpu.warpgroup.mma %da, %da, %c {transposeB} : !matrix, !matrix, !acc -> !acc
    %i = arith.remui %thread, %c16 : index
    memref.store %v, %after[%i] : !row
    %w = memref.load %after[%i] : !row
    memref.store %w, %y[%thread] : memref<256xf32>
    gpu.return
  }
}
