// What is wrong with sizes that only a run knows is an error at its place.

// RUN: not --crash async-opt run %s --entry=transfer 2>&1 | FileCheck %s --check-prefix=TRANSFER
// RUN: not --crash async-opt run %s --entry=alloc 2>&1 | FileCheck %s --check-prefix=ALLOC

// TRANSFER: sizes.mlir:[[#@LINE+6]]:8: error: the buffers of a transfer have different sizes
func.func @transfer() {
  %n = call @number() : () -> index
  %three = arith.constant 3 : index
  %h = memref.alloc(%n) : memref<?xf32>
  %d = gpux.alloc (%three) : memref<?xf32, #gpu.address_space<global>>
  %t = gpux.transfer async %h, %d : memref<?xf32> to memref<?xf32, #gpu.address_space<global>>
  async.await %t
  return
}

// ALLOC: sizes.mlir:[[#@LINE+5]]:8: error: {{.*}}9223372036854775807
func.func @alloc() {
  %n = call @number() : () -> index
  %c = arith.constant 5764607523034234 : index
  %size = arith.muli %n, %c : index
  %d = gpux.alloc (%size) : memref<?x8xf32, #gpu.address_space<global>>
  gpux.dealloc %d : memref<?x8xf32, #gpu.address_space<global>>
  return
}

func.func private @number() -> index {
  %n = arith.constant 100 : index
  return %n : index
}
