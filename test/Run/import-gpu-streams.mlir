// Programs that are right only if a token is a stream: what follows the same token follows all that was put on its stream before.

// RUN: async-opt run %s --async-import-gpu="gpu-tokens=stream" --canonicalize --threads=2 2>&1 | FileCheck %s

// CHECK: [3, 4, 5, 6]
// CHECK: [4, 4, 4, 4]
// CHECK-NOT: alive at the end

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%m: memref<4xi32>, %n: i32) kernel {
      %i = gpu.thread_id x
      %x = memref.load %m[%i] : memref<4xi32>
      %y = arith.addi %x, %n : i32
      memref.store %y, %m[%i] : memref<4xi32>
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %h = memref.alloc() : memref<4xi32>
    %g = memref.alloc() : memref<4xi32>
    affine.for %i = 0 to 4 {
      %n = arith.index_cast %i : index to i32
      affine.store %n, %h[%i] : memref<4xi32>
    }
    // Each of these depends on the copy alone, as far as its token says.
    %w = gpu.wait async
    %a, %t0 = gpu.alloc async [%w] () : memref<4xi32>
    %t1 = gpu.memcpy async [%t0] %a, %h : memref<4xi32>, memref<4xi32>
    %t2 = gpu.launch_func async [%t1] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%a : memref<4xi32>, %three : i32)
    %t3 = gpu.memcpy async [%t1] %h, %a : memref<4xi32>, memref<4xi32>
    %t4 = gpu.dealloc async [%t1] %a : memref<4xi32>
    gpu.wait [%t1]
    %hu = memref.cast %h : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%hu) : (memref<*xi32>) -> ()

    // The stream of before the loop is that of each iteration.
    %s = gpu.wait async
    %b, %s0 = gpu.alloc async [%s] () : memref<4xi32>
    %s1 = gpu.memset async [%s0] %b, %zero : memref<4xi32>, i32
    scf.for %i = %c0 to %c4 step %c1 {
      %s2 = gpu.launch_func async [%s1] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
          args(%b : memref<4xi32>, %one : i32)
    }
    %s3 = gpu.memcpy async [%s1] %g, %b : memref<4xi32>, memref<4xi32>
    %s4 = gpu.dealloc async [%s3] %b : memref<4xi32>
    gpu.wait [%s4]
    %gu = memref.cast %g : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%gu) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<4xi32>
    memref.dealloc %g : memref<4xi32>
    return
  }
}
