// Programs in upstream's `gpu` operations are imported and run; with both meanings of a token they do the same.

// RUN: async-opt run %s --async-import-gpu --threads=2 2>&1 | FileCheck %s
// RUN: async-opt run %s --async-import-gpu="gpu-tokens=stream" --canonicalize --threads=2 2>&1 | FileCheck %s
// RUN: async-opt run %s --async-import-gpu --entry=synchronous 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: async-opt run %s --async-import-gpu="gpu-tokens=stream" --entry=synchronous 2>&1 | FileCheck %s --check-prefix=SYNC

// CHECK: [5, 6, 7, 8, 9, 10, 11, 12]
// CHECK: [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: [5, 8, 11, 14, 17, 20, 23, 26]
// CHECK-NOT: alive at the end

// SYNC: [14, 16, 18, 20, 22, 24, 26, 28]

module attributes {gpu.container_module} {
  gpu.module @first {
    gpu.func @add(%m: memref<8xi32>, %n: i32) kernel {
      %i = gpu.thread_id x
      %x = memref.load %m[%i] : memref<8xi32>
      %y = arith.addi %x, %n : i32
      memref.store %y, %m[%i] : memref<8xi32>
      gpu.return
    }
  }
  // Kernels of one name in two modules.
  gpu.module @second {
    gpu.func @add(%m: memref<8xi32>, %from: memref<8xi32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %m[%i] : memref<8xi32>
      %y = memref.load %from[%i] : memref<8xi32>
      %z = arith.addi %x, %y : i32
      memref.store %z, %m[%i] : memref<8xi32>
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func private @fill(%h: memref<8xi32>) {
    affine.for %i = 0 to 8 {
      %n = arith.index_cast %i : index to i32
      affine.store %n, %h[%i] : memref<8xi32>
    }
    return
  }

  // Two chains, on one buffer each, and one that comes after both.
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %h = memref.alloc() : memref<8xi32>
    %g = memref.alloc() : memref<8xi32>
    %s = memref.alloc() : memref<8xi32>
    call @fill(%h) : (memref<8xi32>) -> ()
    call @fill(%g) : (memref<8xi32>) -> ()

    %w0 = gpu.wait async
    %a, %a0 = gpu.alloc async [%w0] () : memref<8xi32>
    %a1 = gpu.memcpy async [%a0] %a, %h : memref<8xi32>, memref<8xi32>
    %a2 = gpu.launch_func async [%a1] @first::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%a : memref<8xi32>, %five : i32)
    %w1 = gpu.wait async
    %b, %b0 = gpu.alloc async [%w1] () : memref<8xi32>
    %b1 = gpu.memcpy async [%b0] %b, %g : memref<8xi32>, memref<8xi32>
    %b2 = gpu.launch_func async [%b1] @second::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%b : memref<8xi32>, %b : memref<8xi32>)
    %both = gpu.wait async [%a2, %b2]
    %c, %c0 = gpu.alloc async [%both] () : memref<8xi32>
    %c2 = gpu.memset async [%c0] %c, %zero : memref<8xi32>, i32
    %c3 = gpu.launch_func async [%c2] @second::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%c : memref<8xi32>, %a : memref<8xi32>)
    %c4 = gpu.launch_func async [%c3] @second::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%c : memref<8xi32>, %b : memref<8xi32>)
    %d0 = gpu.memcpy async [%c4] %h, %a : memref<8xi32>, memref<8xi32>
    %d1 = gpu.memcpy async [%d0] %g, %b : memref<8xi32>, memref<8xi32>
    %d2 = gpu.memcpy async [%d1] %s, %c : memref<8xi32>, memref<8xi32>
    %e0 = gpu.dealloc async [%d2] %a : memref<8xi32>
    %e1 = gpu.dealloc async [%e0] %b : memref<8xi32>
    %e2 = gpu.dealloc async [%e1] %c : memref<8xi32>
    gpu.wait [%e2]

    %hu = memref.cast %h : memref<8xi32> to memref<*xi32>
    %gu = memref.cast %g : memref<8xi32> to memref<*xi32>
    %su = memref.cast %s : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%hu) : (memref<*xi32>) -> ()
    call @printMemrefI32(%gu) : (memref<*xi32>) -> ()
    call @printMemrefI32(%su) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<8xi32>
    memref.dealloc %g : memref<8xi32>
    memref.dealloc %s : memref<8xi32>
    return
  }

  // Without tokens, one operation after the other; kernels of two modules on memory that both have.
  func.func @synchronous() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %seven = arith.constant 7 : i32
    %h = memref.alloc() : memref<8xi32>
    call @fill(%h) : (memref<8xi32>) -> ()
    %m = gpu.alloc () : memref<8xi32>
    gpu.memcpy %m, %h : memref<8xi32>, memref<8xi32>
    gpu.launch_func @first::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%m : memref<8xi32>, %seven : i32)
    gpu.launch_func @second::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%m : memref<8xi32>, %m : memref<8xi32>)
    gpu.memcpy %h, %m : memref<8xi32>, memref<8xi32>
    gpu.dealloc %m : memref<8xi32>
    %u = memref.cast %h : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<8xi32>
    return
  }
}
