// Tasks in upstream's `async`, which alloc, copy and launch with upstream's `gpu`: both are imported, and run.

// RUN: async-translate --import-upstream-async %s | async-opt run --async-import-gpu --threads=2 - 2>&1 | FileCheck %s
// RUN: async-translate --import-upstream-async %s | async-opt run --async-import-gpu="gpu-tokens=stream" --canonicalize - 2>&1 | FileCheck %s

// CHECK: [84, 84]
// CHECK-NOT: alive at the end

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @sum(%x: memref<2xi32>, %y: memref<2xi32>, %z: memref<2xi32>) kernel {
      %i = gpu.thread_id x
      %a = memref.load %x[%i] : memref<2xi32>
      %b = memref.load %y[%i] : memref<2xi32>
      %c = arith.addi %a, %b : i32
      memref.store %c, %z[%i] : memref<2xi32>
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = arith.constant 42 : i32
    %h = memref.alloc() : memref<2xi32>
    memref.store %n, %h[%c0] : memref<2xi32>
    memref.store %n, %h[%c1] : memref<2xi32>
    %t0, %f0 = async.execute -> !async.value<memref<2xi32>> {
      %b = gpu.alloc () : memref<2xi32>
      gpu.memcpy %b, %h : memref<2xi32>, memref<2xi32>
      async.yield %b : memref<2xi32>
    }
    %t1, %f1 = async.execute [%t0] (%f0 as %from: !async.value<memref<2xi32>>) -> !async.value<memref<2xi32>> {
      %b = gpu.alloc () : memref<2xi32>
      gpu.memcpy %b, %from : memref<2xi32>, memref<2xi32>
      async.yield %b : memref<2xi32>
    }
    %t2, %f2 = async.execute [%t0] (%f0 as %from: !async.value<memref<2xi32>>) -> !async.value<memref<2xi32>> {
      %b = gpu.alloc () : memref<2xi32>
      gpu.memcpy %b, %from : memref<2xi32>, memref<2xi32>
      async.yield %b : memref<2xi32>
    }
    %t3 = async.execute [%t1, %t2] (%f0 as %a: !async.value<memref<2xi32>>, %f1 as %b: !async.value<memref<2xi32>>,
                                    %f2 as %c: !async.value<memref<2xi32>>) {
      gpu.launch_func @kernels::@sum blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
          args(%b : memref<2xi32>, %c : memref<2xi32>, %a : memref<2xi32>)
      gpu.memcpy %h, %a : memref<2xi32>, memref<2xi32>
      gpu.dealloc %a : memref<2xi32>
      gpu.dealloc %b : memref<2xi32>
      gpu.dealloc %c : memref<2xi32>
      async.yield
    }
    async.await %t3 : !async.token
    %u = memref.cast %h : memref<2xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<2xi32>
    return
  }
}
