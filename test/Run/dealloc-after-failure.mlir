// What used a buffer has failed: it is freed nonetheless, and nothing is if the allocation itself has failed. The token has the first error.

// RUN: not async-opt run %s --async-lower-to-cpu="on-error=status" 2>&1 | FileCheck %s
// RUN: not async-opt run %s --async-lower-to-cpu="on-error=status" --entry=awaited 2>&1 | FileCheck %s --check-prefix=AWAITED
// RUN: not async-opt run %s --async-lower-to-cpu="on-error=status" --entry=too_large 2>&1 | FileCheck %s --check-prefix=LARGE

!device = memref<8xf32, #gpu.address_space<global>>
!open = memref<?xf32, #gpu.address_space<global>>

// CHECK: dealloc-after-failure.mlir:[[#@LINE+6]]:5: error: it fails
// CHECK-NOT: alive at the end
func.func @main() {
  %false = arith.constant false
  %d, %t = gpux.alloc async () : !device
  %u = async.region [%t] {
    cf.assert %false, "it fails"
    async.yield
  }
  %v = gpux.dealloc async [%u] %d : !device
  async.await %v
  return
}

// AWAITED: error: it fails
// AWAITED-NOT: alive at the end
func.func @awaited() {
  %false = arith.constant false
  %d, %t = gpux.alloc async () : !device
  async.await %t
  %u = async.region {
    cf.assert %false, "it fails"
    async.yield
  }
  %v = gpux.dealloc async [%u] %d : !device
  async.await %v
  return
}

// LARGE: dealloc-after-failure.mlir:[[#@LINE+4]]:12: error: can't allocate {{[0-9]+}} bytes
// LARGE-NOT: alive at the end
func.func @too_large() {
  %n = arith.constant 1000000000000000 : index
  %d, %t = gpux.alloc async (%n) : !open
  %v = gpux.dealloc async [%t] %d : !open
  async.await %v
  return
}
