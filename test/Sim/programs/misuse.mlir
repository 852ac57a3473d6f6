// Memory is freed by whoever has allocated it, and registered once.

// RUN: not async-sim %s --entry=host_frees_device | FileCheck %s --check-prefix=DEVICE
// RUN: not async-sim %s --entry=device_frees_host | FileCheck %s --check-prefix=HOST
// RUN: not async-sim %s --entry=registered_twice | FileCheck %s --check-prefix=TWICE
// RUN: not async-sim %s --entry=unregistered_in_use --schedule=early | FileCheck %s --check-prefix=IN-USE
// RUN: not async-sim %s --entry=part | FileCheck %s --check-prefix=PART
// RUN: not async-sim %s --entry=freed_while_registered | FileCheck %s --check-prefix=WHILE
// RUN: not async-sim %s --entry=overlap | FileCheck %s --check-prefix=OVERLAP
// RUN: not async-sim %s --entry=out_of_bounds | FileCheck %s --check-prefix=LAUNCH
// RUN: async-sim %s --entry=polls --schedule=late | FileCheck %s --check-prefix=POLLS

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @write(%m: memref<4xi32>) kernel {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      memref.store %i, %m[%t] : memref<4xi32>
      gpu.return
    }
    gpu.func @raise(%m: memref<i32>) kernel {
      %one = arith.constant 1 : i32
      memref.atomic_rmw addi %one, %m[] : (i32, memref<i32>) -> i32
      gpu.return
    }
  }

  // DEVICE: error: memref.dealloc: the host has not allocated the buffer of {{.*}}misuse.mlir
  // DEVICE: help: free it with gpu.dealloc or gpux.dealloc
  func.func @host_frees_device() {
    %d = gpu.alloc () : memref<4xi32>
    memref.dealloc %d : memref<4xi32>
    return
  }

  // HOST: error: gpux.dealloc: the host has allocated the buffer of {{.*}}misuse.mlir
  func.func @device_frees_host() {
    %h = memref.alloc () : memref<4xi32>
    gpu.dealloc %h : memref<4xi32>
    return
  }

  // TWICE: misuse.mlir:[[#@LINE+6]]:{{[0-9]+}}: error: gpu.host_unregister: the buffer of {{.*}} is not registered
  // TWICE: misuse.mlir:[[#@LINE+7]]:{{[0-9]+}}: error: gpu.host_register: the buffer of {{.*}} is registered already
  // TWICE-NOT: error
  func.func @registered_twice() {
    %h = memref.alloc() : memref<4xi32>
    %any = memref.cast %h : memref<4xi32> to memref<*xi32>
    gpu.host_unregister %any : memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.host_unregister %any : memref<*xi32>
    return
  }

  // IN-USE: error: WAW race: gpu.host_unregister writes what another task writes, and nothing orders the two
  // IN-USE: against: gpux.async_launch at
  func.func @unregistered_in_use() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %h = memref.alloc() : memref<4xi32>
    %any = memref.cast %h : memref<4xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    %s = gpu.wait async
    %t = gpu.launch_func async [%s] @kernels::@write blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%h : memref<4xi32>)
    gpu.host_unregister %any : memref<*xi32>
    gpu.wait [%t]
    return
  }

  // OVERLAP: error: gpux.transfer: copies between parts of the buffer of {{.*}} that overlap
  func.func @overlap() {
    %zero = arith.constant 0 : i32
    %d = gpu.alloc () : memref<4xi32>
    gpu.memset %d, %zero : memref<4xi32>, i32
    %from = memref.subview %d[0] [3] [1] : memref<4xi32> to memref<3xi32>
    %to = memref.subview %d[1] [3] [1] : memref<4xi32> to memref<3xi32, strided<[1], offset: 1>>
    gpu.memcpy %to, %from : memref<3xi32, strided<[1], offset: 1>>, memref<3xi32>
    return
  }

  // LAUNCH: error: memref.store: index 4 is out of bounds
  // LAUNCH-NEXT: this: thread 4 of block 0
  // LAUNCH-NEXT: against: gpux.async_launch at {{.*}}misuse.mlir:[[#@LINE+5]]
  func.func @out_of_bounds() {
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %d = gpu.alloc () : memref<4xi32>
    gpu.launch_func @kernels::@write blocks in (%c1, %c1, %c1) threads in (%c5, %c1, %c1) args(%d : memref<4xi32>)
    return
  }

  // PART: error: memref.store: the kernel accesses the buffer of {{.*}}misuse.mlir:[[#@LINE+4]]:{{[0-9]+}}, which is pageable memory of the host
  func.func @part() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %m = memref.alloc() : memref<4xi32>
    %half = memref.subview %m[2] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 2>>
    %any = memref.cast %half : memref<2xi32, strided<[1], offset: 2>> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@write blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%m : memref<4xi32>)
    return
  }

  // WHILE: misuse.mlir:[[#@LINE+5]]:{{[0-9]+}}: error: memref.dealloc: frees the buffer of {{.*}}, which is registered
  func.func @freed_while_registered() {
    %m = memref.alloc() : memref<4xi32>
    %any = memref.cast %m : memref<4xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    memref.dealloc %m : memref<4xi32>
    return
  }

  // The host waits for what a kernel writes, which has its turn.
  // POLLS: polls: clean
  func.func @polls() {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %m = gpu.alloc host_shared () : memref<i32>
    memref.store %zero, %m[] : memref<i32>
    %s = gpu.wait async
    %t = gpu.launch_func async [%s] @kernels::@raise blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    scf.while : () -> () {
      %now = memref.atomic_rmw addi %zero, %m[] : (i32, memref<i32>) -> i32
      %waits = arith.cmpi eq, %now, %zero : i32
      scf.condition(%waits)
    } do {
      scf.yield
    }
    gpu.wait [%t]
    return
  }
}
