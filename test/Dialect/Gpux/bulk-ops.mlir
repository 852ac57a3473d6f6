// RUN: async-opt %s | FileCheck %s
// RUN: async-opt %s | async-opt | FileCheck %s
// RUN: async-opt %s --mlir-print-op-generic | async-opt | FileCheck %s

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!swizzled = !nvgpu.tensormap.descriptor<tensor = memref<1x32x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = nan, interleave = none>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
!shared = memref<64x64xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: @tma_load
func.func @tma_load(%tensor: !tile, %dst: !shared, %i: index, %j: index, %free: !async.token, %ring: !ring, %slot: index) {
  // CHECK: %[[T:.*]] = gpux.tma_load async %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : !nvgpu.tensormap.descriptor<{{.*}}>, memref<64x64xf16, #gpu.address_space<workgroup>>
  %t = gpux.tma_load async %tensor[%i, %j], %dst : !tile, !shared
  // CHECK: gpux.tma_load async [%arg4, %[[T]]] %arg0[%{{.*}}, %{{.*}}], %{{.*}} :
  %u = gpux.tma_load async [%free, %t] %tensor[%i, %j], %dst : !tile, !shared
  // CHECK: gpux.tma_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %{{.*}}[%{{.*}}] : {{.*}}, !nvgpu.mbarrier.group
  gpux.tma_load %tensor[%i, %j], %dst, %ring[%slot] : !tile, !shared, !ring
  return
}

// A destination of several boxes, one below the other; dimensions of 1 don't count.
// CHECK-LABEL: @several_boxes
func.func @several_boxes(%tensor: !tile, %rows: memref<512x64xf16, 3>, %swizzled: !swizzled, %slices: memref<1x128x64xf16, 3>, %i: index) {
  // CHECK: gpux.tma_load async
  %t = gpux.tma_load async %tensor[%i, %i], %rows : !tile, memref<512x64xf16, 3>
  // CHECK: gpux.tma_load async
  %u = gpux.tma_load async %swizzled[%i, %i, %i], %slices : !swizzled, memref<1x128x64xf16, 3>
  return
}

// One slot of a ring of buffers, at an offset that only the running program knows.
// CHECK-LABEL: @slot_of_a_ring
func.func @slot_of_a_ring(%tensor: !tile, %dst: memref<64x64xf16, strided<[64, 1], offset: ?>, 3>, %i: index) {
  // CHECK: gpux.tma_load async
  %t = gpux.tma_load async %tensor[%i, %i], %dst : !tile, memref<64x64xf16, strided<[64, 1], offset: ?>, 3>
  return
}

// CHECK-LABEL: @tma_store
func.func @tma_store(%tensor: !tile, %src: !shared, %i: index, %j: index, %ready: !async.token) {
  // CHECK: %{{.*}}, %[[DONE:.*]] = gpux.tma_store async [%{{.*}}] %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<64x64xf16, #gpu.address_space<workgroup>>, !nvgpu.tensormap.descriptor
  %read, %done = gpux.tma_store async [%ready] %src, %tensor[%i, %j] : !shared, !tile
  // CHECK: async.await %[[DONE]]
  async.await %done
  // CHECK: gpux.tma_store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref
  gpux.tma_store %src, %tensor[%i, %j] : !shared, !tile
  return
}

// CHECK-LABEL: @bulk
func.func @bulk(%global: memref<1024xf32>, %shared: memref<16x64xf32, 3>, %ring: !ring, %slot: index) {
  // CHECK: %[[T:.*]] = gpux.bulk_load async %{{.*}}, %{{.*}} : memref<1024xf32> to memref<16x64xf32, 3>
  %t = gpux.bulk_load async %global, %shared : memref<1024xf32> to memref<16x64xf32, 3>
  // CHECK: gpux.bulk_load %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] : memref<1024xf32> to memref<16x64xf32, 3>, !nvgpu.mbarrier.group
  gpux.bulk_load %global, %shared, %ring[%slot] : memref<1024xf32> to memref<16x64xf32, 3>, !ring
  // CHECK: %[[READ:.*]], %{{.*}} = gpux.bulk_store async [%[[T]]] %{{.*}}, %{{.*}} : memref<16x64xf32, 3> to memref<1024xf32>
  %read, %done = gpux.bulk_store async [%t] %shared, %global : memref<16x64xf32, 3> to memref<1024xf32>
  // CHECK: async.await %[[READ]]
  async.await %read
  // CHECK: gpux.bulk_store %{{.*}}, %{{.*}} : memref
  gpux.bulk_store %shared, %global : memref<16x64xf32, 3> to memref<1024xf32>
  return
}

// CHECK-LABEL: @elect
func.func @elect() -> i1 {
  // CHECK: %[[LEADER:.*]] = gpux.elect
  %leader = gpux.elect
  // CHECK: return %[[LEADER]] : i1
  return %leader : i1
}

// A load may name the warp that issues it, and a thread of a warp be elected.
// CHECK-LABEL: @of_a_warp
func.func @of_a_warp(%src: memref<64xf32>, %dst: memref<64xf32, #gpu.address_space<workgroup>>) -> (!async.token, i1) {
  // CHECK: gpux.bulk_load async %{{.*}}, %{{.*}} {issuer = 4 : i32}
  %t = gpux.bulk_load async %src, %dst {issuer = 4 : i32} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK: gpux.elect {warp = 4 : i32}
  %leader = gpux.elect {warp = 4 : i32}
  return %t, %leader : !async.token, i1
}
