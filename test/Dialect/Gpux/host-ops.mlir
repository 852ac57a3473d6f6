// RUN: async-opt %s | async-opt | FileCheck %s
// RUN: async-opt %s --mlir-print-op-generic | async-opt | FileCheck %s

!device = memref<?x8xf32, #gpu.address_space<global>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scale(%m: !device, %f: f32) kernel {
      gpu.return
    }
    gpu.func @nothing() kernel {
      gpu.return
    }
  }

  // CHECK-LABEL: func.func @alloc
  func.func @alloc(%n: index, %t: !async.token) -> (!device, !async.token) {
    // CHECK: %[[M:[a-z_0-9]+]], %[[T:[a-z_0-9]+]] = gpux.alloc async [%{{.*}}] (%{{.*}}) : memref<?x8xf32, #gpu.address_space<global>>
    %m, %u = gpux.alloc async [%t] (%n) : !device
    // CHECK: gpux.alloc () : memref<8xf32, 1>
    %s = gpux.alloc () : memref<8xf32, 1>
    // CHECK: gpux.dealloc %{{.*}} : memref<8xf32, 1>
    gpux.dealloc %s : memref<8xf32, 1>
    // CHECK: %[[H:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = gpux.host_alloc async (%{{.*}}) : memref<?xi8>
    %h, %v = gpux.host_alloc async (%n) : memref<?xi8>
    // CHECK: gpux.dealloc async [%[[V]]] %[[H]] : memref<?xi8>
    %w = gpux.dealloc async [%v] %h : memref<?xi8>
    %zero = arith.constant 0.0 : f32
    // CHECK: %[[W:[a-z_0-9]+]] = gpux.memset async [%{{.*}}] %{{.*}}, %{{.*}} : memref<8xf32, 1>
    %x = gpux.memset async [%t] %zero, %s : memref<8xf32, 1>
    // CHECK: gpux.memset %{{.*}}, %{{.*}} : memref<8xf32, 1>
    gpux.memset %zero, %s : memref<8xf32, 1>
    return %m, %u : !device, !async.token
  }

  // CHECK-LABEL: func.func @transfer
  func.func @transfer(%x: tensor<?xf32>, %h: memref<?x8xf32>, %d: !device, %t: !async.token) {
    // CHECK: %[[X:[a-z_0-9]+]], %[[U:[a-z_0-9]+]] = gpux.transfer async [%{{.*}}] %{{.*}} to device : tensor<?xf32>{{$}}
    %y, %u = gpux.transfer async [%t] %x to device : tensor<?xf32>
    // CHECK: gpux.transfer async [%[[U]]] %[[X]] to host : tensor<?xf32>
    %z, %v = gpux.transfer async [%u] %y to host : tensor<?xf32>
    // CHECK: gpux.transfer %{{.*}} to host : memref<?x8xf32, #gpu.address_space<global>> to memref<?x8xf32>
    %r = gpux.transfer %d to host : !device to memref<?x8xf32>
    // CHECK: gpux.transfer %{{.*}}, %{{.*}} : memref<?x8xf32> to memref<?x8xf32, #gpu.address_space<global>>
    gpux.transfer %h, %d : memref<?x8xf32> to !device
    // CHECK: gpux.transfer async %{{.*}}, %{{.*}} : memref<?x8xf32, #gpu.address_space<global>>{{$}}
    %w = gpux.transfer async %d, %d : !device
    return
  }

  // CHECK-LABEL: func.func @launch
  func.func @launch(%d: !device, %f: f32, %n: index, %bytes: i32, %t: !async.token) {
    %c1 = arith.constant 1 : index
    // CHECK: gpux.async_launch async [%{{.*}}] @kernels::@scale blocks(%{{.*}}) threads(%{{.*}}) args(%{{.*}}, %{{.*}} : memref<?x8xf32, #gpu.address_space<global>>, f32)
    %u = gpux.async_launch async [%t] @kernels::@scale blocks (%n, %c1, %c1) threads (%n, %c1, %c1) args (%d, %f : !device, f32)
    // CHECK: gpux.async_launch @kernels::@nothing clusters(%{{.*}}) blocks(%{{.*}}) threads(%{{.*}}) dynamic_memory %{{.*}}
    gpux.async_launch @kernels::@nothing clusters (%c1, %c1, %c1) blocks (%n, %c1, %c1) threads (%n, %c1, %c1) dynamic_memory %bytes
    return
  }
}
