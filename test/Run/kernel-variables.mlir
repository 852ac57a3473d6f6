// A variable of a gpu.module keeps what a kernel writes, and another kernel of it reads that.

// RUN: async-opt run %s | FileCheck %s
// RUN: async-sim %s | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @count : memref<1xi32, #gpu.address_space<global>> = dense<5>
    gpu.func @raise() kernel {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %count = memref.get_global @count : memref<1xi32, #gpu.address_space<global>>
      memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32, #gpu.address_space<global>>) -> i32
      gpu.return
    }
    gpu.func @print() kernel {
      %c0 = arith.constant 0 : index
      %count = memref.get_global @count : memref<1xi32, #gpu.address_space<global>>
      %n = memref.load %count[%c0] : memref<1xi32, #gpu.address_space<global>>
      gpu.printf "%d\n", %n : i32
      gpu.return
    }
  }

  // CHECK: 12
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %t0 = gpux.async_launch async @kernels::@raise blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1)
    %t1 = gpux.async_launch async @kernels::@raise blocks (%c3, %c1, %c1) threads (%c1, %c1, %c1)
    %t2 = gpux.async_launch async [%t0, %t1] @kernels::@print blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1)
    async.await %t2
    return
  }
}
