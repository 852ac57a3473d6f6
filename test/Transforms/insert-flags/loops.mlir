// RUN: async-opt %s --gpux-insert-flags --allow-unregistered-dialect 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-insert-flags=flags=counting --allow-unregistered-dialect 2>/dev/null | FileCheck %s --check-prefix=COUNT

// The tile is free before the loop, and taken back after it.
// CHECK-LABEL: func.func @carried
// CHECK-NEXT: gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.wait_flag <"V", "MTE2", 0>
// CHECK-NEXT: "npu.load"
// CHECK-NEXT: gpux.set_flag <"MTE2", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"MTE2", "V", 0>
// CHECK-NEXT: "npu.add"
// CHECK-NEXT: gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_flag <"V", "MTE2", 0>
// CHECK-NEXT: return
func.func @carried(%tile: memref<64xf32>, %lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step {
    "npu.load"(%tile) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32>) -> ()
    "npu.add"(%tile) {async.engine = "V", async.reads = [0]} : (memref<64xf32>) -> ()
  }
  return
}

// No memory holds the loads back. A binary flag has to: the next one is set when V has taken the last one back.
// CHECK-LABEL: func.func @runs_ahead
// CHECK-NEXT: gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT: scf.for
// CHECK-NEXT: "npu.load"
// CHECK-NEXT: gpux.wait_flag <"V", "MTE2", 0>
// CHECK-NEXT: gpux.set_flag <"MTE2", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"MTE2", "V", 0>
// CHECK-NEXT: gpux.set_flag <"V", "MTE2", 0>
// CHECK-NEXT: "npu.add"{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_flag <"V", "MTE2", 0>
// COUNT-LABEL: func.func @runs_ahead
// COUNT-NEXT: scf.for
// COUNT-NEXT: "npu.load"
// COUNT-NEXT: gpux.set_flag <"MTE2", "V", 0>
// COUNT-NEXT: gpux.wait_flag <"MTE2", "V", 0>
// COUNT-NEXT: "npu.add"{{.*}}
// COUNT-NEXT: }
func.func @runs_ahead(%lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step {
    %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
    "npu.add"(%a) {async.engine = "V"} : (i1) -> ()
  }
  return
}

// What the loop needs is waited for before it.
// CHECK-LABEL: func.func @into_a_loop
// CHECK: "npu.load"
// CHECK-NEXT: gpux.set_flag <"MTE2", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"MTE2", "V", 0>
// CHECK-NEXT: scf.for
func.func @into_a_loop(%lb: index, %ub: index, %step: index) {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  scf.for %i = %lb to %ub step %step {
    "npu.add"(%a) {async.engine = "V"} : (i1) -> ()
  }
  return
}

// The flag of the last iteration is set first, and waited for last: the two share no id, not even if flags count.
// COUNT-LABEL: func.func @in_another_order
// COUNT-NEXT: gpux.set_flag <"MTE2", "V", [[LAST:[0-9]+]]>
// COUNT: scf.if
// COUNT-NEXT: "npu.load"
// COUNT-NEXT: gpux.set_flag <"MTE2", "V", [[THIS:[0-9]+]]>
// COUNT-NEXT: gpux.wait_flag <"MTE2", "V", [[THIS]]>
// COUNT-NEXT: "npu.add"{{.*}}
// COUNT-NEXT: }
// COUNT: gpux.wait_flag <"MTE2", "V", [[LAST]]>
func.func @in_another_order(%a: memref<64xf32> {llvm.noalias}, %b: memref<64xf32> {llvm.noalias}, %p: i1, %lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step {
    scf.if %p {
      "npu.load"(%b) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32>) -> ()
      "npu.add"(%b) {async.engine = "V", async.reads = [0]} : (memref<64xf32>) -> ()
    }
    "npu.add"(%a) {async.engine = "V", async.reads = [0]} : (memref<64xf32>) -> ()
    "npu.load"(%a) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32>) -> ()
  }
  return
}
