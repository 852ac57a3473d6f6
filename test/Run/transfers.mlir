// RUN: async-opt run %s --threads=2 | FileCheck %s
// RUN: async-opt run %s -O0 --threads=1 | FileCheck %s

// A chain of tokens: memory of the device, 8 numbers copied to it, a kernel, and back.

// CHECK:      rank = 1 offset = 0 sizes = [8] strides = [1] data =
// CHECK-NEXT: [0, 3, 6, 9, 12, 15, 18, 21]

!device = memref<8xf32, #gpu.address_space<global>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scale(%m: !device, %f: f32) kernel {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %s = gpu.block_dim x
      %i0 = arith.muli %b, %s : index
      %i = arith.addi %i0, %t : index
      %x = memref.load %m[%i] : !device
      %y = arith.mulf %x, %f : f32
      memref.store %y, %m[%i] : !device
      gpu.return
    }
  }

  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %f = arith.constant 3.0 : f32
    %h = memref.alloc() : memref<8xf32>
    affine.for %i = 0 to 8 {
      %n = arith.index_cast %i : index to i32
      %x = arith.sitofp %n : i32 to f32
      affine.store %x, %h[%i] : memref<8xf32>
    }
    %d, %t0 = gpux.alloc async () : !device
    %t1 = gpux.transfer async [%t0] %h, %d : memref<8xf32> to !device
    %t2 = gpux.async_launch async [%t1] @kernels::@scale blocks (%c2, %c1, %c1) threads (%c4, %c1, %c1)
        args(%d, %f : !device, f32)
    %t3 = gpux.transfer async [%t2] %d, %h : !device to memref<8xf32>
    %t4 = gpux.dealloc async [%t3] %d : !device
    async.await %t4
    %u = memref.cast %h : memref<8xf32> to memref<*xf32>
    call @printMemrefF32(%u) : (memref<*xf32>) -> ()
    memref.dealloc %h : memref<8xf32>
    return
}
}
