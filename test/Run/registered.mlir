// A kernel may use memory of the host that is registered, and no other.

// RUN: async-opt run %s --async-import-gpu --device=sim | FileCheck %s
// RUN: async-opt run %s --async-import-gpu | FileCheck %s
// RUN: not async-opt run %s --async-import-gpu --device=sim --entry=beside 2>&1 | FileCheck %s --check-prefix=BESIDE
// RUN: not --crash async-opt run %s --async-import-gpu --device=sim --entry=twice 2>&1 | FileCheck %s --check-prefix=TWICE

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @set(%m: memref<8xi32>, %from: index) kernel {
      %seven = arith.constant 7 : i32
      %t = gpu.thread_id x
      %i = arith.addi %from, %t : index
      memref.store %seven, %m[%i] : memref<8xi32>
      gpu.return
    }
  }
  func.func private @printMemrefI32(memref<*xi32>)

  // CHECK: [0, 0, 0, 0, 7, 7, 7, 7]
  func.func @main() {
    %c4 = arith.constant 4 : index
    call @part(%c4) : (index) -> ()
    return
  }

  // BESIDE: registered.mlir:44:5: error: unknown pointer: its kernel uses 16 bytes of the host's memory, which is not registered
  func.func @beside() {
    %c2 = arith.constant 2 : index
    call @part(%c2) : (index) -> ()
    return
  }

  func.func private @part(%from: index) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0 : i32
    %m = memref.alloc() : memref<8xi32>
    linalg.fill ins(%zero : i32) outs(%m : memref<8xi32>)
    %half = memref.subview %m[4] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1], offset: 4>>
    %any = memref.cast %half : memref<4xi32, strided<[1], offset: 4>> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@set blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%m : memref<8xi32>, %from : index)
    gpu.host_unregister %any : memref<*xi32>
    %all = memref.cast %m : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%all) : (memref<*xi32>) -> ()
    memref.dealloc %m : memref<8xi32>
    return
  }

  // TWICE: registered.mlir:[[#@LINE+5]]:5: {{.*}}registers memory of the host that gpu.host_register (call 1) has registered
  func.func @twice() {
    %m = memref.alloc() : memref<8xi32>
    %any = memref.cast %m : memref<8xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    return
  }
}
