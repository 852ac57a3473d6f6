// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --split-input-file | FileCheck %s

// A transfer reads its source until its token is complete: a write before goes
// to a copy.
// CHECK-LABEL: func.func @write_while_transfer_reads
// CHECK-SAME: (%[[X:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_while_transfer_reads(%x: tensor<8xf32>, %f: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[D:[a-z_0-9]+]], %[[T:[a-z_0-9]+]] = gpux.transfer async %[[X]] to device : memref<8xf32> to memref<8xf32, #gpu.address_space<global>>
  %d, %t = gpux.transfer async %x to device : tensor<8xf32>
  // CHECK: memref.copy %[[X]], %[[C:[a-z_0-9]+]] :
  // CHECK: memref.store %{{.*}}, %[[C]]
  %y = tensor.insert %f into %x[%i] : tensor<8xf32>
  // CHECK: gpux.transfer async [%[[T]]] %[[D]] to host : memref<8xf32, #gpu.address_space<global>> to memref<8xf32>
  %h, %u = gpux.transfer async [%t] %d to host : tensor<8xf32>
  async.await %u
  return %h, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @write_after_transfer
// CHECK-SAME: (%[[X:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_after_transfer(%x: tensor<8xf32>, %f: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: gpux.transfer %[[X]] to device
  // CHECK-NEXT: memref.store %{{.*}}, %[[X]]
  %d = gpux.transfer %x to device : tensor<8xf32>
  %y = tensor.insert %f into %x[%i] : tensor<8xf32>
  %h = gpux.transfer %d to host : tensor<8xf32>
  return %h, %y : tensor<8xf32>, tensor<8xf32>
}
