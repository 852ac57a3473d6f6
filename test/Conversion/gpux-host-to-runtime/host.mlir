// Allocations, transfers and launches of host code become calls of the runtime.

// RUN: async-opt %s --gpux-host-to-runtime | FileCheck %s

!device = memref<?x8xf32, #gpu.address_space<global>>

module attributes {gpu.container_module} {
  // CHECK: gpu.module @kernels
  gpu.module @kernels {
    gpu.func @scale(%m: !device, %f: f32) kernel {
      gpu.return
    }
  }

  // An asynchronous operation is in a region; the memory of the device is memory like other on the host.
  // CHECK-LABEL: func.func @alloc
  // CHECK-SAME: (%[[N:[a-z0-9]+]]: index, %[[T:[a-z0-9]+]]: !async.token) -> (memref<?x8xf32>, !async.token)
  // CHECK: async.region [%[[T]]] -> (memref<?x8xf32>) {
  // CHECK: func.call @asyncopt_rt_device_alloc(%
  // CHECK: %[[M:[a-z0-9_]+]] = memref.view %{{.+}}[%{{.+}}][%[[N]]] : memref<?xi8> to memref<?x8xf32>
  // CHECK: async.yield %[[M]]
  func.func @alloc(%n: index, %t: !async.token) -> (!device, !async.token) {
    %m, %u = gpux.alloc async [%t] (%n) : !device
    return %m, %u : !device, !async.token
  }

  // The runtime reads the descriptor of what is registered.
  // CHECK-LABEL: func.func @register
  // CHECK-SAME: %[[M:[a-z0-9]+]]: memref<*xf32>
  // CHECK: %[[D:[a-z0-9]+]] = builtin.unrealized_conversion_cast %[[M]] : memref<*xf32> to !llvm.struct<(i64, ptr)>
  // CHECK: %[[RANK:[a-z0-9]+]] = llvm.extractvalue %[[D]][0]
  // CHECK: %[[AT:[a-z0-9]+]] = llvm.extractvalue %[[D]][1]
  // CHECK: call @asyncopt_rt_host_register(%{{[0-9]+}}, %{{[0-9]+}}, %[[RANK]], %[[AT]], %{{[0-9]+}}, %{{[0-9]+}})
  // CHECK: call @asyncopt_rt_host_unregister(
  func.func @register(%m: memref<*xf32>) {
    gpu.host_register %m : memref<*xf32>
    gpu.host_unregister %m : memref<*xf32>
    return
  }

  // One that the host waits for is not.
  // CHECK-LABEL: func.func @synchronous
  // CHECK-NOT: async.region
  // CHECK: call @asyncopt_rt_host_alloc
  // CHECK: call @asyncopt_rt_host_dealloc
  // CHECK: call @asyncopt_rt_device_dealloc
  func.func @synchronous(%n: index, %d: !device) {
    %h = gpux.host_alloc (%n) : memref<?xf32>
    gpux.dealloc %h : memref<?xf32>
    gpux.dealloc %d : !device
    return
  }

  // A transfer of what lies in a row is one call, to a new buffer or to one that is there. If it fails, nobody else frees the new one.
  // CHECK-LABEL: func.func @transfer
  // CHECK: call @asyncopt_rt_device_alloc
  // CHECK: call @asyncopt_rt_device_transfer_to_new(
  // CHECK: call @asyncopt_rt_device_transfer(
  func.func @transfer(%h: memref<?x8xf32>, %d: !device) -> !device {
    %r = gpux.transfer %h to device : memref<?x8xf32> to !device
    gpux.transfer %h, %d : memref<?x8xf32> to !device
    return %r : !device
  }

  // Others go element by element.
  // CHECK-LABEL: func.func @strided
  // CHECK: call @asyncopt_rt_device_transfer_rank1(
  func.func @strided(%h: memref<4xf32, strided<[2]>>, %d: memref<4xf32, #gpu.address_space<global>>) {
    gpux.transfer %h, %d : memref<4xf32, strided<[2]>> to memref<4xf32, #gpu.address_space<global>>
    return
  }

  // The elements of a slice may lie in a row, too.
  // CHECK-LABEL: func.func @slices
  // CHECK: call @asyncopt_rt_device_transfer(
  // CHECK: call @asyncopt_rt_device_memset_value
  // CHECK: call @asyncopt_rt_device_transfer_rank2(
  func.func @slices(%h: memref<2x8xf32, strided<[8, 1], offset: 16>>, %d: memref<?x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<global>>, %f: f32,
                    %odd: memref<2x8xf32, strided<[9, 1]>>) {
    gpux.transfer %h, %d : memref<2x8xf32, strided<[8, 1], offset: 16>> to memref<?x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<global>>
    gpux.memset %f, %d : memref<?x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<global>>
    gpux.transfer %odd, %d : memref<2x8xf32, strided<[9, 1]>> to memref<?x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<global>>
    return
  }

  // No worker waits for what the device does at the end of a region, unless it goes element by element.
  // CHECK-LABEL: func.func @trailing
  // CHECK: async.region
  // CHECK: call @asyncopt_rt_device_trailing(%{{[0-9]+}}) : (!llvm.ptr) -> i32
  // CHECK: call @asyncopt_rt_device_transfer(
  // CHECK: async.region
  // CHECK-NOT: @asyncopt_rt_device_trailing
  // CHECK: call @asyncopt_rt_device_transfer_rank1(
  func.func @trailing(%h: memref<4xf32>, %s: memref<4xf32, strided<[2]>>, %d: memref<4xf32, #gpu.address_space<global>>) {
    %t = gpux.transfer async %h, %d : memref<4xf32> to memref<4xf32, #gpu.address_space<global>>
    %u = gpux.transfer async [%t] %s, %d : memref<4xf32, strided<[2]>> to memref<4xf32, #gpu.address_space<global>>
    async.await %u
    return
  }

  // A region says which device its operations use, and those in it that say nothing else.
  // CHECK-LABEL: func.func @placed
  // CHECK: %[[ONE:[a-z0-9]+]] = llvm.mlir.constant(1 : i32)
  // CHECK: func.call @asyncopt_rt_device_memset_value(%{{[0-9]+}}, %[[ONE]],
  func.func @placed(%d: !device, %f: f32) -> !async.token {
    %t = async.region on(device 1) {
      %u = async.region {
        gpux.memset %f, %d : !device
      }
      async.yield %u : !async.token
    }
    return %t : !async.token
  }

  // The arguments of a launch are what descriptors consist of.
  // CHECK-LABEL: func.func @launch
  // CHECK: async.region {
  // CHECK: %[[NAME:[a-z0-9]+]] = llvm.mlir.addressof @[[STRING:[a-z0-9_]+]]
  // CHECK: func.call @asyncopt_rt_device_launch_args(%{{[0-9]+}}, %{{[0-9]+}}, %[[NAME]],
  // CHECK-SAME: !llvm.ptr, !llvm.ptr, i64, i64, i64, i64, i64, f32) -> i32
  func.func @launch(%d: !device, %f: f32, %n: index) -> !async.token {
    %c1 = arith.constant 1 : index
    %t = gpux.async_launch async @kernels::@scale blocks (%n, %c1, %c1) threads (%n, %c1, %c1) args (%d, %f : !device, f32)
    return %t : !async.token
  }
}
