// What `gpu.alloc` allocates is the device's memory wherever it goes.

// RUN: async-opt %s --async-import-gpu --split-input-file | FileCheck %s

// Through views, loops, branches, blocks and calls.
// CHECK-LABEL: func.func @through
// CHECK: gpux.alloc async () : memref<8xf32, #gpu.address_space<global>>
// CHECK: memref.subview {{.*}} to memref<4xf32, strided<[1]>, #gpu.address_space<global>>
// CHECK: memref.cast {{.*}} to memref<?xf32, #gpu.address_space<global>>
// CHECK: scf.for {{.*}} -> (memref<8xf32, #gpu.address_space<global>>) {
// CHECK: scf.if {{.*}} -> (memref<8xf32, #gpu.address_space<global>>) {
// CHECK: arith.select {{.*}} : memref<8xf32, #gpu.address_space<global>>
// CHECK: async.region -> (memref<8xf32, #gpu.address_space<global>>)
// CHECK: call @same({{.*}}) : (memref<8xf32, #gpu.address_space<global>>) -> memref<8xf32, #gpu.address_space<global>>
// CHECK: cf.br ^bb1(%{{.+}} : memref<8xf32, #gpu.address_space<global>>)
// CHECK: gpux.transfer async %{{.+}}, %{{.+}} : memref<8xf32> to memref<8xf32, #gpu.address_space<global>>
func.func @through(%h: memref<8xf32>, %n: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = gpu.alloc () : memref<8xf32>
  %v = memref.subview %m[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %w = memref.cast %m : memref<8xf32> to memref<?xf32>
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%a = %m) -> (memref<8xf32>) {
    %b = scf.if %c -> (memref<8xf32>) {
      scf.yield %a : memref<8xf32>
    } else {
      scf.yield %m : memref<8xf32>
    }
    scf.yield %b : memref<8xf32>
  }
  %s = arith.select %c, %l, %m : memref<8xf32>
  %t, %r = async.region -> (memref<8xf32>) {
    async.yield %s : memref<8xf32>
  }
  async.await %t
  %d = call @same(%r) : (memref<8xf32>) -> memref<8xf32>
  cf.br ^next(%d : memref<8xf32>)
^next(%e: memref<8xf32>):
  gpu.memcpy %e, %h : memref<8xf32>, memref<8xf32>
  return
}

// CHECK-LABEL: func.func private @same(
// CHECK-SAME: memref<8xf32, #gpu.address_space<global>>) -> memref<8xf32, #gpu.address_space<global>>
func.func private @same(%m: memref<8xf32>) -> memref<8xf32> {
  return %m : memref<8xf32>
}

// -----

// A function without a body gets what it says.
// CHECK-LABEL: func.func @external
// CHECK: %[[U:.+]] = memref.cast {{.*}} to memref<*xf32, #gpu.address_space<global>>
// CHECK: %[[C:.+]] = memref.memory_space_cast %[[U]] : memref<*xf32, #gpu.address_space<global>> to memref<*xf32>
// CHECK: call @print(%[[C]]) : (memref<*xf32>) -> ()
func.func private @print(memref<*xf32>)
func.func @external() {
  %m = gpu.alloc () : memref<8xf32>
  %u = memref.cast %m : memref<8xf32> to memref<*xf32>
  call @print(%u) : (memref<*xf32>) -> ()
  return
}

// -----

// Types that say it already stay as they are.
// CHECK-LABEL: func.func @explicit
// CHECK: gpux.alloc async () : memref<8xf32, 1>
// CHECK: gpux.transfer async %{{.+}}, %{{.+}} : memref<8xf32> to memref<8xf32, 1>
func.func @explicit(%h: memref<8xf32>) {
  %m = gpu.alloc () : memref<8xf32, 1>
  gpu.memcpy %m, %h : memref<8xf32, 1>, memref<8xf32>
  return
}

// -----

// A kernel's argument is of the device's memory space if it is in all launches, also where it meets others.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @two(%{{.+}}: memref<8xf32, #gpu.address_space<global>>, %{{.+}}: memref<8xf32>) kernel
// CHECK: gpu.func @either(%{{.+}}: memref<8xf32>, %{{.+}}: memref<8xf32>, %{{.+}}: i1) kernel
// CHECK: gpu.func @mixed(%{{.+}}: memref<8xf32>) kernel
// CHECK-LABEL: func.func @launches
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @two(%a: memref<8xf32>, %b: memref<8xf32>) kernel {
      gpu.return
    }
    gpu.func @either(%a: memref<8xf32>, %b: memref<8xf32>, %c: i1) kernel {
      %s = arith.select %c, %a, %b : memref<8xf32>
      gpu.return
    }
    gpu.func @mixed(%a: memref<8xf32>) kernel {
      gpu.return
    }
  }
  func.func @launches(%h: memref<8xf32>, %n: index, %c: i1) {
    %m = gpu.alloc () : memref<8xf32>
    gpu.launch_func @kernels::@two blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%m : memref<8xf32>, %h : memref<8xf32>)
    gpu.launch_func @kernels::@either blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%m : memref<8xf32>, %h : memref<8xf32>, %c : i1)
    gpu.launch_func @kernels::@mixed blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%m : memref<8xf32>)
    gpu.launch_func @kernels::@mixed blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%h : memref<8xf32>)
    return
  }
}
