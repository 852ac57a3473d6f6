// What frees memory waits for what allocates it, also if that comes late.

// RUN: not async-sim %s | FileCheck %s
// RUN: not async-sim %s --schedule=early | FileCheck %s
// RUN: not async-sim %s --schedule=exhaustive | FileCheck %s

// CHECK: freed-before.mlir:[[#@LINE+6]]:{{[0-9]+}}: error: gpux.dealloc: ends the life of the buffer of {{.*}}, and nothing orders the access of another task before that
// CHECK-NEXT: this: task 2
// CHECK-NEXT: against: gpux.alloc at {{.*}}freed-before.mlir:[[#@LINE+3]]
func.func @main() {
  // Nobody awaits the allocation.
  %d, %a = gpux.alloc async () : memref<4xi32, #gpu.address_space<global>>
  %f = gpux.dealloc async %d : memref<4xi32, #gpu.address_space<global>>
  async.await %f
  return
}
