// RUN: async-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @dependencies_merge
// CHECK-SAME: %[[T:[a-z_0-9]+]]: !async.token, %[[U:[a-z_0-9]+]]: !async.token)
func.func @dependencies_merge(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %t: !async.token, %u: !async.token) -> !async.token {
  // CHECK-NEXT: gpux.copy async [%[[T]], %[[U]]]
  %r = async.ready
  %j = async.join %u, %t
  %v = gpux.copy async [%t, %r, %t, %j] %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  return %v : !async.token
}

// -----

// CHECK-LABEL: func.func @complete_dependencies_go_away
func.func @complete_dependencies_go_away(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) -> !async.token {
  // CHECK-NEXT: gpux.copy async %{{.*}} {bypass_l1, test.keep}
  %r = async.ready
  %v = gpux.copy async [%r] %src[%i], %dst[%i], 4 {bypass_l1, test.keep} : memref<64xf32> to memref<64xf32, 3>
  return %v : !async.token
}

// -----

// CHECK-LABEL: func.func @unused_token
func.func @unused_token(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // CHECK-NEXT: gpux.copy async
  // CHECK-NEXT: gpux.commit_group async <cp_async>
  %v = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %w = gpux.commit_group async <cp_async>
  return
}
