// RUN: async-opt %s --gpux-insert-flags --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// Whether the loop goes on is a result of MTE2, which V has to know before it branches. V's addition reads what MTE2 loads, and the
// next load overwrites it. What is set for the next iteration is taken back after the loop, and the last iteration sets it after
// the loop, too.

// CHECK-LABEL: func.func @while_loop
// CHECK:       gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT:  scf.while
// CHECK-NEXT:    gpux.wait_flag <"V", "MTE2", 0>
// CHECK-NEXT:    "npu.load"
// CHECK-NEXT:    gpux.set_flag <"MTE2", "V", 0>
// CHECK-NEXT:    gpux.wait_flag <"MTE2", "V", 0>
// CHECK-NEXT:    scf.condition
// CHECK:       do
// CHECK-NEXT:    "npu.add"
// CHECK-NEXT:    gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT:  gpux.wait_flag <"V", "MTE2", 0>
// CHECK-NEXT:  return
func.func @while_loop() {
  %tile = memref.alloc() : memref<64xf32>
  scf.while : () -> () {
    %more = "npu.load"(%tile) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32>) -> i1
    scf.condition(%more)
  } do {
    "npu.add"(%tile) {async.engine = "V", async.reads = [0]} : (memref<64xf32>) -> ()
    scf.yield
  }
  return
}

// A value that the second region hands to the first one, which hands it back.
// CHECK-LABEL: func.func @carried_value
// CHECK:       scf.while
// CHECK-NEXT:    gpux.wait_flag <"M", "V", 0>
// CHECK-NEXT:    gpux.set_flag <"V", "M", 0>
// CHECK-NEXT:    scf.condition
// CHECK:       do
// CHECK:         "npu.use"
// CHECK-NEXT:    "npu.make"
// CHECK-NEXT:    gpux.wait_flag <"V", "M", 0>
// CHECK-NEXT:    gpux.set_flag <"M", "V", 0>
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  gpux.wait_flag <"V", "M", 0>
// CHECK-NEXT:  gpux.set_flag <"M", "V", 0>
// CHECK-NEXT:  gpux.wait_flag <"M", "V", 0>
func.func @carried_value(%p: i1, %first: i32) {
  scf.while (%a = %first) : (i32) -> i32 {
    scf.condition(%p) %a : i32
  } do {
  ^bb0(%b: i32):
    "npu.use"(%b) {async.engine = "V"} : (i32) -> ()
    %c = "npu.make"() {async.engine = "M"} : () -> i32
    scf.yield %c : i32
  }
  return
}

// The first region writes again what it has read in the last iteration.
// CHECK-LABEL: func.func @first_region
// CHECK:       gpux.set_flag <"V", "MTE2", [[FREE:[0-9]+]]>
// CHECK-NEXT:  scf.while
// CHECK-NEXT:  gpux.wait_flag <"V", "MTE2", [[FREE]]>
// CHECK-NEXT:  "npu.load"
// CHECK:       scf.condition
// CHECK:       gpux.wait_flag <"V", "MTE2", [[FREE]]>
// CHECK-NEXT:  return
func.func @first_region(%tile: memref<64xf32>, %more: i1) {
  scf.while : () -> () {
    "npu.load"(%tile) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32>) -> ()
    "npu.add"(%tile) {async.engine = "V", async.reads = [0]} : (memref<64xf32>) -> ()
    scf.condition(%more)
  } do {
    scf.yield
  }
  return
}

// In the second iteration, the condition is what V has made before the loop, so M waits for it.
// CHECK-LABEL: func.func @handed_to_the_next
// CHECK:       "npu.make"
// CHECK:       gpux.wait_flag <"V", "M"
// CHECK:       scf.while
func.func @handed_to_the_next(%tile: memref<64xf32>, %first: i1) {
  %other = "npu.make"() {async.engine = "V"} : () -> i1
  scf.while (%more = %first) : (i1) -> () {
    "npu.matmul"(%tile) {async.engine = "M", async.writes = [0]} : (memref<64xf32>) -> ()
    scf.condition(%more)
  } do {
    scf.yield %other : i1
  }
  return
}

// The condition of the inner loop comes from the iteration before: all that are in there wait for it.
// CHECK-LABEL: func.func @condition_of_an_inner_loop
// CHECK: scf.while
// CHECK-NEXT: gpux.wait_flag <"C", "B", [[KNOWN:[0-9]+]]>
// CHECK: scf.while
// CHECK: "npu.count"
// CHECK: gpux.set_flag <"C", "B", [[KNOWN]]>
func.func @condition_of_an_inner_loop(%a: memref<64xf32>, %p: i1) {
  scf.while (%x = %p) : (i1) -> () {
    scf.while : () -> () {
      scf.condition(%x)
    } do {
      "npu.load"(%a) {async.engine = "B", async.writes = [0]} : (memref<64xf32>) -> ()
      scf.yield
    }
    scf.condition(%p)
  } do {
    %y = "npu.count"() {async.engine = "C"} : () -> i1
    scf.yield %y : i1
  }
  return
}
