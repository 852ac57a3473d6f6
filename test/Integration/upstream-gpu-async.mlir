// A program in upstream's `async` and `gpu` all the way: fork and join of tasks that copy between buffers of the device, and a kernel.
// With upstream's `--gpu-async-region`, operations in a task share a stream.

// RUN: mlir-opt %s --gpu-kernel-outlining | async-translate --import-upstream-async | async-opt --async-import-gpu | FileCheck %s
// RUN: mlir-opt %s --gpu-kernel-outlining --gpu-async-region | async-translate --import-upstream-async \
// RUN:   | async-opt --async-import-gpu="gpu-tokens=stream" --canonicalize | FileCheck %s --check-prefix=STREAMS

// What tasks return says where it is, also to the kernel.
// CHECK: %[[T0:.+]], %[[B0:.+]] = async.region -> (memref<2xi32, #gpu.address_space<global>>)
// CHECK: gpux.alloc async () : memref<2xi32, #gpu.address_space<global>>
// CHECK: gpux.transfer async %{{.+}}, %{{.+}} : memref<2xi32> to memref<2xi32, #gpu.address_space<global>>
// CHECK: %[[T1:.+]], %[[B1:.+]] = async.region [%[[T0]]] -> (memref<2xi32, #gpu.address_space<global>>)
// CHECK: gpux.transfer async %[[B0]]
// CHECK: %[[T2:.+]], %[[B2:.+]] = async.region [%[[T0]]] -> (memref<2xi32, #gpu.address_space<global>>)
// CHECK: %[[T3:.+]] = async.region [%[[T1]], %[[T2]]]
// CHECK: gpux.async_launch async @main_kernel::@main_kernel {{.*}} args(%[[B1]], %[[B2]],
// CHECK: async.await %[[T3]]
// CHECK: gpu.func @main_kernel(%{{[a-z0-9]+}}: memref<2xi32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<2xi32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<2xi32>)

// STREAMS: async.region
// STREAMS: %[[M:.+]], %[[A:.+]] = gpux.alloc async
// STREAMS: %[[C:.+]] = gpux.transfer async [%[[A]]]
// STREAMS: async.yield %[[M]], %[[C]] : memref<2xi32, #gpu.address_space<global>>, !async.token
// STREAMS-NOT: gpu.async.token

func.func @main(%h: memref<2xi32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t0, %f0 = async.execute -> !async.value<memref<2xi32>> {
    %b = gpu.alloc () : memref<2xi32>
    gpu.memcpy %b, %h : memref<2xi32>, memref<2xi32>
    async.yield %b : memref<2xi32>
  }
  %t1, %f1 = async.execute [%t0] (%f0 as %b0 : !async.value<memref<2xi32>>) -> !async.value<memref<2xi32>> {
    %b = gpu.alloc () : memref<2xi32>
    gpu.memcpy %b, %b0 : memref<2xi32>, memref<2xi32>
    async.yield %b : memref<2xi32>
  }
  %t2, %f2 = async.execute [%t0] (%f0 as %b0 : !async.value<memref<2xi32>>) -> !async.value<memref<2xi32>> {
    %b = gpu.alloc () : memref<2xi32>
    gpu.memcpy %b, %b0 : memref<2xi32>, memref<2xi32>
    async.yield %b : memref<2xi32>
  }
  %t3 = async.execute [%t1, %t2] (%f1 as %b1 : !async.value<memref<2xi32>>, %f2 as %b2 : !async.value<memref<2xi32>>) {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
        threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c1, %sz = %c1) {
      %x = memref.load %b1[%tx] : memref<2xi32>
      %y = memref.load %b2[%tx] : memref<2xi32>
      %z = arith.addi %x, %y : i32
      memref.store %z, %h[%tx] : memref<2xi32>
      gpu.terminator
    }
    async.yield
  }
  async.await %t3 : !async.token
  return
}
