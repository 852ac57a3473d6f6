// A variable of host code is pageable memory: nobody frees it, and a kernel may use it while it is registered.

// RUN: async-sim %s | FileCheck %s
// RUN: not async-sim %s --entry=pageable | FileCheck %s --check-prefix=PAGEABLE
// RUN: async-sim %s --entry=registered | FileCheck %s --check-prefix=REGISTERED

module attributes {gpu.container_module} {
  memref.global "private" @numbers : memref<2xi32> = dense<[1, 2]>

  gpu.module @kernels {
    gpu.func @show(%m: memref<2xi32>) kernel {
      %c1 = arith.constant 1 : index
      %x = memref.load %m[%c1] : memref<2xi32>
      gpu.printf "%d\n", %x : i32
      gpu.return
    }
  }

  // CHECK-NOT: never freed
  // CHECK: main: clean
  func.func @main() {
    %m = memref.get_global @numbers : memref<2xi32>
    %d, %a = gpux.alloc async () : memref<2xi32, #gpu.address_space<global>>
    %t = gpux.transfer async [%a] %m, %d : memref<2xi32> to memref<2xi32, #gpu.address_space<global>>
    %f = gpux.dealloc async [%t] %d : memref<2xi32, #gpu.address_space<global>>
    async.await %f
    return
  }

  // PAGEABLE: error: memref.load: the kernel accesses @numbers, which is pageable memory of the host
  func.func @pageable() {
    %c1 = arith.constant 1 : index
    %m = memref.get_global @numbers : memref<2xi32>
    gpu.launch_func @kernels::@show blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<2xi32>)
    return
  }

  // REGISTERED: 2
  // REGISTERED-NEXT: registered: clean
  func.func @registered() {
    %c1 = arith.constant 1 : index
    %m = memref.get_global @numbers : memref<2xi32>
    %any = memref.cast %m : memref<2xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@show blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<2xi32>)
    gpu.host_unregister %any : memref<*xi32>
    return
  }
}
