// RUN: async-opt %s --gpux-insert-flags --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// In an iteration, the load and the addition use different slots, and run at the same time. Each addition waits for the load of
// the iteration before, whose flag is taken before it is set again, and each load for the addition.

// CHECK-LABEL: func.func @slots
// CHECK:       gpux.set_flag <"V", "MTE2", 0>
// CHECK:       gpux.set_flag <"MTE2", "V", 0>
// CHECK:       scf.for
// CHECK:         gpux.wait_flag <"V", "MTE2", 0>
// CHECK:         "npu.load"
// CHECK:         gpux.wait_flag <"MTE2", "V", 0>
// CHECK:         gpux.set_flag <"MTE2", "V", 0>
// CHECK:         "npu.add"
// CHECK:         gpux.set_flag <"V", "MTE2", 0>
func.func @slots(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<3x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %later = arith.addi %i, %c2 : index
    %to = arith.remui %later, %c3 : index
    %of = arith.remui %i, %c3 : index
    %in = memref.subview %a[%to, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %out = memref.subview %a[%of, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    "npu.load"(%in) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32, strided<[1], offset: ?>>) -> ()
    "npu.add"(%out) {async.engine = "V", async.reads = [0]} : (memref<64xf32, strided<[1], offset: ?>>) -> ()
  }
  return
}
