// Whichever call of the device fails, the runtime and async-sim name the same place, and nothing is left that a failed operation has allocated.

// A transfer to a new buffer is two calls: the allocation, and the copy. If the copy fails, nobody else knows the buffer.
// RUN: env ASYNCOPT_DEVICE_FAIL_AT=2 not async-opt run %s --async-lower-to-cpu="on-error=status" --device=sim 2>&1 | FileCheck %s --check-prefix=COPY
// RUN: not async-sim %s --entry=main --fail-at=2 | FileCheck %s --check-prefix=COPY
// RUN: env ASYNCOPT_DEVICE_FAIL_AT=3 not async-opt run %s --async-lower-to-cpu="on-error=status" --device=sim 2>&1 | FileCheck %s --check-prefix=FREE
// RUN: not async-sim %s --entry=main --fail-at=3 | FileCheck %s --check-prefix=FREE

// A transfer of what does not lie in a row is a call for each element, after that of the allocation.
// RUN: env ASYNCOPT_DEVICE_FAIL_AT=5 not async-opt run %s --entry=strided --async-lower-to-cpu="on-error=status" --device=sim 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: not async-sim %s --entry=strided --fail-at=5 | FileCheck %s --check-prefix=LAST
// RUN: env ASYNCOPT_DEVICE_FAIL_AT=6 not async-opt run %s --entry=strided --async-lower-to-cpu="on-error=status" --device=sim 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: not async-sim %s --entry=strided --fail-at=6 | FileCheck %s --check-prefix=AFTER

// A region yields a buffer of which a later use fails: the buffer is there for whoever frees it.
// RUN: env ASYNCOPT_DEVICE_FAIL_AT=2 not async-opt run %s --entry=yielded --async-lower-to-cpu="on-error=status" --device=sim 2>&1 | FileCheck %s --check-prefix=USE
// RUN: not async-sim %s --entry=yielded --fail-at=2 | FileCheck %s --check-prefix=USE
// RUN: env ASYNCOPT_DEVICE_FAIL_AT=1 not async-opt run %s --entry=yielded --async-lower-to-cpu="on-error=status" --device=sim 2>&1 | FileCheck %s --check-prefix=ALLOC
// RUN: not async-sim %s --entry=yielded --fail-at=1 | FileCheck %s --check-prefix=ALLOC

!device = memref<4xf32, #gpu.address_space<global>>
!odd = memref<4xf32, strided<[2]>>

// COPY: fail-at.mlir:[[#@LINE+8]]:12: error: gpux.transfer
// COPY-NOT: {{alive at the end|never freed}}
// FREE: fail-at.mlir:[[#@LINE+7]]:8: error: gpux.dealloc
// FREE: {{nobody has freed this|never freed}}
func.func @main() {
  %x = arith.constant 1.0 : f32
  %h = memref.alloc() : memref<4xf32>
  linalg.fill ins(%x : f32) outs(%h : memref<4xf32>)
  %d, %t = gpux.transfer async %h to device : memref<4xf32> to !device
  %f = gpux.dealloc async [%t] %d : !device
  async.await %f
  memref.dealloc %h : memref<4xf32>
  return
}

// LAST: fail-at.mlir:[[#@LINE+8]]:12: error: gpux.transfer
// LAST-NOT: {{alive at the end|never freed}}
// AFTER: fail-at.mlir:[[#@LINE+7]]:8: error: gpux.dealloc
func.func @strided() {
  %x = arith.constant 1.0 : f32
  %h = memref.alloc() : memref<8xf32>
  linalg.fill ins(%x : f32) outs(%h : memref<8xf32>)
  %odd = memref.subview %h[0] [4] [2] : memref<8xf32> to !odd
  %d, %t = gpux.transfer async %odd to device : !odd to !device
  %f = gpux.dealloc async [%t] %d : !device
  async.await %f
  memref.dealloc %h : memref<8xf32>
  return
}

// USE: fail-at.mlir:[[#@LINE+8]]:12: error: gpux.memset
// USE-NOT: {{alive at the end|never freed}}
// ALLOC: fail-at.mlir:[[#@LINE+5]]:17: error: gpux.alloc
// ALLOC-NOT: {{alive at the end|never freed}}
func.func @yielded() {
  %x = arith.constant 1.0 : f32
  %t, %v = async.region -> (!device) {
    %d, %made = gpux.alloc async () : !device
    %set = gpux.memset async [%made] %x, %d : !device
    async.yield %d, %set : !device, !async.token
  }
  %f = gpux.dealloc async [%t] %v : !device
  async.await %f
  return
}
