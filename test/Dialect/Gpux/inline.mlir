// RUN: async-opt %s --inline | FileCheck %s

func.func private @load_tile(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) -> !async.token {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  return %t : !async.token
}

// CHECK-LABEL: func.func @kernel
func.func @kernel(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = gpux.copy async
  // CHECK-NEXT: async.await %[[T]]
  %t = func.call @load_tile(%src, %dst, %i) : (memref<64xf32>, memref<64xf32, 3>, index) -> !async.token
  async.await %t
  return
}
