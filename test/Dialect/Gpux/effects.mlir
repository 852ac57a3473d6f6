// RUN: async-opt %s --cse --split-input-file | FileCheck %s
// RUN: async-opt %s --loop-invariant-code-motion --split-input-file | FileCheck %s
// RUN: async-opt %s --affine-scalrep --split-input-file | FileCheck %s
// RUN: async-opt %s --canonicalize --split-input-file | FileCheck %s

// Copies, commits and waits have unknown effects: no load moves across them, no
// store is forwarded over them, no two of them merge.

// CHECK-LABEL: func.func @loads_do_not_merge
func.func @loads_do_not_merge(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) -> (f32, f32, f32, f32, f32) {
  // CHECK-NEXT: %[[A:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: gpux.copy async
  // CHECK-NEXT: %[[B:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: %[[C:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: gpux.commit_group
  // CHECK-NEXT: %[[D:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: gpux.wait_group
  // CHECK-NEXT: %[[E:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
  %a = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
  %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %b = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %c = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
  gpux.commit_group <cp_async>
  %d = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
  gpux.wait_group <cp_async>, 0
  %e = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
  return %a, %b, %c, %d, %e : f32, f32, f32, f32, f32
}

// -----

// CHECK-LABEL: func.func @store_is_not_forwarded
func.func @store_is_not_forwarded(%dst: memref<64xf32, 3>, %i: index, %x: f32) -> f32 {
  // CHECK-NEXT: affine.store
  // CHECK-NEXT: gpux.wait_group
  // CHECK-NEXT: %[[A:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: return %[[A]]
  affine.store %x, %dst[symbol(%i)] : memref<64xf32, 3>
  gpux.wait_group <cp_async>, 0
  %a = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
  return %a : f32
}

// -----

// CHECK-LABEL: func.func @store_is_not_dead
func.func @store_is_not_dead(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %x: f32, %y: f32) {
  // CHECK-NEXT: affine.store
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: affine.store
  affine.store %x, %src[symbol(%i)] : memref<64xf32>
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  affine.store %y, %src[symbol(%i)] : memref<64xf32>
  return
}

// -----

// CHECK-LABEL: func.func @equal_operations_do_not_merge
func.func @equal_operations_do_not_merge(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) -> (!async.token, !async.token) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = gpux.copy async
  // CHECK-NEXT: %[[U:[a-z_0-9]+]] = gpux.copy async
  // CHECK-NEXT: gpux.commit_group
  // CHECK-NEXT: gpux.commit_group
  // CHECK-NEXT: gpux.wait_group
  // CHECK-NEXT: gpux.wait_group
  // CHECK-NEXT: return %[[T]], %[[U]]
  %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %u = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  gpux.commit_group <cp_async>
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 1
  return %t, %u : !async.token, !async.token
}

// -----

// CHECK-LABEL: func.func @nothing_leaves_the_loop
func.func @nothing_leaves_the_loop(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %sum: memref<f32>, %i: index, %n: index) {
  // CHECK: affine.for
  // CHECK-NEXT: gpux.copy
  // CHECK-NEXT: gpux.commit_group
  // CHECK-NEXT: gpux.wait_group
  // CHECK-NEXT: affine.load
  affine.for %k = 0 to %n {
    gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %a = affine.load %dst[symbol(%i)] : memref<64xf32, 3>
    affine.store %a, %sum[] : memref<f32>
  }
  return
}
