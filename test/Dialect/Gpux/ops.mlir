// RUN: async-opt %s | async-opt | FileCheck %s
// RUN: async-opt %s --mlir-print-op-generic | async-opt | FileCheck %s

// CHECK-LABEL: func.func @copy_by_token
// CHECK-SAME: (%[[SRC:[a-z_0-9]+]]: memref<128x64xf16>, %[[DST:[a-z_0-9]+]]: memref<4x64xf16, #gpu.address_space<workgroup>>, %[[I:[a-z_0-9]+]]: index, %[[S:[a-z_0-9]+]]: index, %[[N:[a-z_0-9]+]]: index, %[[T:[a-z_0-9]+]]: !async.token)
func.func @copy_by_token(%src: memref<128x64xf16>, %dst: memref<4x64xf16, #gpu.address_space<workgroup>>, %i: index, %s: index, %n: index, %t: !async.token) -> !async.token {
  // CHECK: %[[T0:[a-z_0-9]+]] = gpux.copy async %[[SRC]][%[[I]], %[[I]]], %[[DST]][%[[S]], %[[I]]], 8 {bypass_l1} : memref<128x64xf16> to memref<4x64xf16, #gpu.address_space<workgroup>>
  %t0 = gpux.copy async %src[%i, %i], %dst[%s, %i], 8 {bypass_l1} : memref<128x64xf16> to memref<4x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %[[T1:[a-z_0-9]+]] = gpux.copy async [%[[T0]], %[[T]]] %[[SRC]][%[[I]], %[[I]]], %[[DST]][%[[S]], %[[I]]], 4, %[[N]] : memref<128x64xf16>
  %t1 = gpux.copy async [%t0, %t] %src[%i, %i], %dst[%s, %i], 4, %n : memref<128x64xf16> to memref<4x64xf16, #gpu.address_space<workgroup>>
  // CHECK: async.await %[[T1]]
  async.await %t1
  return %t1 : !async.token
}

// CHECK-LABEL: func.func @copy_by_count
func.func @copy_by_count(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %n: index) {
  // CHECK: gpux.copy %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 4 : memref<64xf32> to memref<64xf32, 3>
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  // CHECK: gpux.copy %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 2, %{{.*}} {test.a = 1 : i64} :
  gpux.copy %src[%i], %dst[%i], 2, %n {test.a = 1 : i64} : memref<64xf32> to memref<64xf32, 3>
  return
}

// CHECK-LABEL: func.func @groups
func.func @groups() -> !async.token {
  // CHECK: gpux.commit_group <cp_async>
  gpux.commit_group <cp_async>
  // CHECK: gpux.commit_group <bulk> {test.b}
  gpux.commit_group <bulk> {test.b}
  // CHECK: %[[T:[a-z_0-9]+]] = gpux.commit_group async <wgmma>
  %t = gpux.commit_group async <wgmma>
  // CHECK: gpux.wait_group <cp_async>, 3
  gpux.wait_group <cp_async>, 3
  // CHECK: gpux.wait_group <bulk>, 0 read
  gpux.wait_group <bulk>, 0 read
  // CHECK: gpux.wait_group <wgmma>, 7 {test.c}
  gpux.wait_group <wgmma>, 7 {test.c}
  // CHECK: return %[[T]]
  return %t : !async.token
}

// CHECK-LABEL: func.func @memory_spaces
func.func @memory_spaces(%a: memref<8xf32>, %b: memref<8xf32, 1>, %c: memref<8xf32, #gpu.address_space<global>>,
                         %x: memref<8xf32, 3>, %y: memref<8xf32, #gpu.address_space<workgroup>>, %i: index) {
  // CHECK-COUNT-3: gpux.copy
  gpux.copy %a[%i], %x[%i], 1 : memref<8xf32> to memref<8xf32, 3>
  gpux.copy %b[%i], %y[%i], 1 : memref<8xf32, 1> to memref<8xf32, #gpu.address_space<workgroup>>
  gpux.copy %c[%i], %y[%i], 1 : memref<8xf32, #gpu.address_space<global>> to memref<8xf32, #gpu.address_space<workgroup>>
  return
}

// A single element needs no contiguous dimension.
// CHECK-LABEL: func.func @strided_element
func.func @strided_element(%src: memref<8x8xf32, strided<[1, 8]>>, %dst: memref<8x8xf32, 3>, %i: index) {
  // CHECK: gpux.copy
  gpux.copy %src[%i, %i], %dst[%i, %i], 1 : memref<8x8xf32, strided<[1, 8]>> to memref<8x8xf32, 3>
  return
}

// Elements without indices.
// CHECK-LABEL: func.func @scalar
func.func @scalar(%src: memref<f64>, %dst: memref<f64, 3>) {
  // CHECK: gpux.copy %{{.*}}[], %{{.*}}[], 1 : memref<f64> to memref<f64, 3>
  gpux.copy %src[], %dst[], 1 : memref<f64> to memref<f64, 3>
  return
}

// CHECK-LABEL: func @flags
func.func @flags() {
  // CHECK: gpux.set_flag <"MTE2", "V", 0>
  // CHECK: gpux.wait_flag <"MTE2", "V", 0>
  gpux.set_flag <"MTE2", "V", 0>
  gpux.wait_flag <"MTE2", "V", 0>
  return
}
