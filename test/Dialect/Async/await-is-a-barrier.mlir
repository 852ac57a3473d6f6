// RUN: async-opt %s --cse --split-input-file | FileCheck %s
// RUN: async-opt %s --loop-invariant-code-motion --split-input-file | FileCheck %s
// RUN: async-opt %s --affine-scalrep --split-input-file | FileCheck %s
// RUN: async-opt %s --canonicalize --split-input-file | FileCheck %s

// No pass moves a load or a store across an await, or reuses one's value on the
// other side.

// CHECK-LABEL: func.func @loads_do_not_merge
func.func @loads_do_not_merge(%m: memref<4xf32>, %i: index, %t: !async.token) -> f32 {
  // CHECK-NEXT: %[[A:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: async.await
  // CHECK-NEXT: %[[B:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: arith.addf %[[A]], %[[B]]
  %a = affine.load %m[symbol(%i)] : memref<4xf32>
  async.await %t
  %b = affine.load %m[symbol(%i)] : memref<4xf32>
  %s = arith.addf %a, %b : f32
  return %s : f32
}

// -----

// CHECK-LABEL: func.func @store_is_not_forwarded
func.func @store_is_not_forwarded(%m: memref<4xf32>, %i: index, %t: !async.token, %x: f32) -> f32 {
  // CHECK-NEXT: affine.store
  // CHECK-NEXT: async.await
  // CHECK-NEXT: %[[B:[a-z_0-9]+]] = affine.load
  // CHECK-NEXT: return %[[B]]
  affine.store %x, %m[symbol(%i)] : memref<4xf32>
  async.await %t
  %b = affine.load %m[symbol(%i)] : memref<4xf32>
  return %b : f32
}

// -----

// CHECK-LABEL: func.func @store_is_not_dead
func.func @store_is_not_dead(%m: memref<4xf32>, %i: index, %t: !async.token, %x: f32, %y: f32) {
  // CHECK-NEXT: affine.store
  // CHECK-NEXT: async.await
  // CHECK-NEXT: affine.store
  affine.store %x, %m[symbol(%i)] : memref<4xf32>
  async.await %t
  affine.store %y, %m[symbol(%i)] : memref<4xf32>
  return
}

// -----

// CHECK-LABEL: func.func @load_stays_in_loop
func.func @load_stays_in_loop(%m: memref<4xf32>, %sum: memref<f32>, %i: index, %n: index, %t: !async.token) {
  // CHECK: affine.for
  // CHECK-NEXT: async.await
  // CHECK-NEXT: affine.load
  affine.for %k = 0 to %n {
    async.await %t
    %a = affine.load %m[symbol(%i)] : memref<4xf32>
    affine.store %a, %sum[] : memref<f32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @awaits_do_not_merge
func.func @awaits_do_not_merge(%m: memref<4xf32>, %i: index, %t: !async.token) {
  // CHECK-NEXT: async.await
  // CHECK-NEXT: async.await
  async.await %t
  async.await %t
  return
}
