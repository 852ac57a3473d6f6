// A program in upstream's async: its regions are tasks, and what is awaited are values.

// RUN: async-sim %s | FileCheck %s
// RUN: async-sim %s --schedule=early | FileCheck %s
// RUN: async-sim - < %s | FileCheck %s

// CHECK: [30, 30]
// CHECK-NEXT: main: clean
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ten = arith.constant 10 : i32
  %h = memref.alloc(%c2) : memref<?xi32>
  %any = memref.cast %h : memref<?xi32> to memref<*xi32>
  gpu.host_register %any : memref<*xi32>
  memref.store %ten, %h[%c0] : memref<?xi32>
  memref.store %ten, %h[%c1] : memref<?xi32>
  %t0, %v0 = async.execute -> !async.value<memref<?xi32>> {
    %d = gpu.alloc(%c2) : memref<?xi32>
    gpu.memcpy %d, %h : memref<?xi32>, memref<?xi32>
    async.yield %d : memref<?xi32>
  }
  %t1 = async.execute [%t0] (%v0 as %d : !async.value<memref<?xi32>>) {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%nx = %c2, %ny = %c1, %nz = %c1) {
      %a = memref.load %d[%tx] : memref<?xi32>
      %b = memref.load %h[%tx] : memref<?xi32>
      %twice = arith.addi %a, %a : i32
      %sum = arith.addi %twice, %b : i32
      memref.store %sum, %h[%tx] : memref<?xi32>
      gpu.terminator
    }
    gpu.dealloc %d : memref<?xi32>
    async.yield
  }
  async.await %t1 : !async.token
  call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
