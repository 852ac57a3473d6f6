// The third program of the MLIR RFC runs: the sum is computed on the device, by operations nested in a region.

// RUN: async-opt run %s --threads=1 | FileCheck %s
// RUN: async-opt run %s --threads=8 | FileCheck %s
// RUN: env ASYNCOPT_CENSUS=1 async-opt run %s 2>&1 >/dev/null | FileCheck %s --check-prefix=CENSUS

// CHECK: sizes = [2, 2]
// CHECK-NEXT: [23, 42],
// CHECK-NEXT: [50, 96]

// CENSUS: alive at the end: 0 tokens, 0 tasks, 0 bytes of frames, 0 suspended coroutines, 0 device allocations

!device = memref<2x2xf32, #gpu.address_space<global>>
!bias = memref<2xf32, #gpu.address_space<global>>

module attributes {gpu.container_module} {
  memref.global "private" constant @a : memref<2x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>
  memref.global "private" constant @b : memref<3x2xf32> = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]>
  memref.global "private" constant @c : memref<3x2xf32> = dense<[[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]>
  memref.global "private" constant @bias : memref<2xf32> = dense<[1.0, 0.0]>

  gpu.module @kernels {
    gpu.func @add(%a: !device, %b: !device, %bias: !bias, %out: !device) kernel {
      %i = gpu.thread_id y
      %j = gpu.thread_id x
      %x = memref.load %a[%i, %j] : !device
      %y = memref.load %b[%i, %j] : !device
      %z = memref.load %bias[%j] : !bias
      %xy = arith.addf %x, %y : f32
      %xyz = arith.addf %xy, %z : f32
      memref.store %xyz, %out[%i, %j] : !device
      gpu.return
    }
  }

  async.func @f(%arg0: memref<2x3xf32>, %arg1: memref<3x2xf32>, %arg2: memref<3x2xf32>, %arg3: memref<2xf32>) -> (memref<2x2xf32>, !async.token) {
    %zero = arith.constant 0.0 : f32
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %t0, %v0 = async.region -> (memref<2x2xf32>) {
      %m = memref.alloc() : memref<2x2xf32>
      linalg.fill ins(%zero : f32) outs(%m : memref<2x2xf32>)
      linalg.matmul ins(%arg0, %arg1 : memref<2x3xf32>, memref<3x2xf32>) outs(%m : memref<2x2xf32>)
      async.yield %m : memref<2x2xf32>
    }
    %t1, %v1 = async.region -> (memref<2x2xf32>) {
      %m = memref.alloc() : memref<2x2xf32>
      linalg.fill ins(%zero : f32) outs(%m : memref<2x2xf32>)
      linalg.matmul ins(%arg0, %arg2 : memref<2x3xf32>, memref<3x2xf32>) outs(%m : memref<2x2xf32>)
      async.yield %m : memref<2x2xf32>
    }
    %t2, %v2 = async.region [%t0, %t1] -> (memref<2x2xf32>) {
      %m, %u0 = gpux.alloc async () : !device
      %a, %u1 = gpux.transfer async %v0 to device : memref<2x2xf32> to !device
      %b, %u2 = gpux.transfer async %v1 to device : memref<2x2xf32> to !device
      %c, %u3 = gpux.transfer async %arg3 to device : memref<2xf32> to !bias
      %u4 = gpux.async_launch async [%u0, %u1, %u2, %u3] @kernels::@add blocks (%c1, %c1, %c1) threads (%c2, %c2, %c1)
        args (%a, %b, %c, %m : !device, !device, !bias, !device)
      %r, %u5 = gpux.transfer async [%u4] %m to host : !device to memref<2x2xf32>
      %d0 = gpux.dealloc async [%u5] %m : !device
      %d1 = gpux.dealloc async [%u5] %a : !device
      %d2 = gpux.dealloc async [%u5] %b : !device
      %d3 = gpux.dealloc async [%u5] %c : !bias
      async.yield %r, %d0, %d1, %d2, %d3 : memref<2x2xf32>, !async.token, !async.token, !async.token, !async.token
    }
    async.yield %v2, %t2 : memref<2x2xf32>, !async.token
  }

  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %a = memref.get_global @a : memref<2x3xf32>
    %b = memref.get_global @b : memref<3x2xf32>
    %c = memref.get_global @c : memref<3x2xf32>
    %bias = memref.get_global @bias : memref<2xf32>
    %r, %t = async.call @f(%a, %b, %c, %bias) : (memref<2x3xf32>, memref<3x2xf32>, memref<3x2xf32>, memref<2xf32>) -> (memref<2x2xf32>, !async.token)
    async.await %t
    %u = memref.cast %r : memref<2x2xf32> to memref<*xf32>
    call @printMemrefF32(%u) : (memref<*xf32>) -> ()
    gpux.dealloc %r : memref<2x2xf32>
    return
  }
}
