// What can't be run is refused at its place.

// RUN: not async-sim %s --entry=unknown_function 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not async-sim %s --entry=tensor 2>&1 | FileCheck %s --check-prefix=TENSOR
// RUN: not async-sim %s --entry=clusters 2>&1 | FileCheck %s --check-prefix=CLUSTERS
// RUN: not async-sim %s --entry=too_many_threads 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not async-sim %s --entry=nowhere 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not async-sim %s --entry=takes 2>&1 | FileCheck %s --check-prefix=TAKES
// RUN: not async-sim %s --entry=mystery 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: not async-sim %s --entry=takes --kernel=empty 2>&1 | FileCheck %s --check-prefix=BOTH

gpu.module @kernels {
  gpu.func @empty() kernel {
    gpu.return
  }
}

// BODY: async-sim: 'mystery' has no body to run
func.func private @mystery(i32)

// FUNCTION: refused.mlir:[[#@LINE+3]]:{{[0-9]+}}: error: 'mystery' has no body to run, and is none of the functions of MLIR's runner libraries that print
func.func @unknown_function() {
  %n = arith.constant 1 : i32
  call @mystery(%n) : (i32) -> ()
  return
}

// TENSOR: refused.mlir:[[#@LINE+2]]:{{[0-9]+}}: error: the interpreter has no tensors: run --one-shot-bufferize first
func.func @tensor() {
  %x = arith.constant dense<1.0> : tensor<4xf32>
  %r, %t = gpux.transfer async %x to device : tensor<4xf32>
  async.await %t
  return
}

// CLUSTERS: error: the interpreter knows no clusters
func.func @clusters() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpux.async_launch async @kernels::@empty clusters (%c2, %c1, %c1) blocks (%c2, %c1, %c1) threads (%c1, %c1, %c1)
  async.await %t
  return
}

// THREADS: error: gpux.async_launch: a block has 1 to 1024 threads, and here 2000
func.func @too_many_threads() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c1000 = arith.constant 1000 : index
  %n = memref.alloc() : memref<index>
  memref.store %c1000, %n[] : memref<index>
  %size = memref.load %n[] : memref<index>
  %t = gpux.async_launch async @kernels::@empty blocks (%c1, %c1, %c1) threads (%size, %c2, %c1)
  async.await %t
  return
}

// NOWHERE: async-sim: there is no function 'nowhere' in the module
// BOTH: error: the argument '--entry <ENTRY>' cannot be used with '--kernel <KERNEL>'

// TAKES: async-sim: 'takes' takes arguments: --entry is for functions that take none
func.func @takes(%n: i32) {
  return
}
