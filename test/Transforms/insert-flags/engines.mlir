// RUN: async-opt %s --gpux-insert-flags --allow-unregistered-dialect 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-insert-flags=flags=counting --allow-unregistered-dialect 2>/dev/null | FileCheck %s --check-prefix=COUNT

// The consumer waits. Its own engine's order takes care of the second one.
// CHECK-LABEL: func.func @first_consumer
// CHECK-NEXT: "npu.load"
// CHECK-NEXT: gpux.set_flag <"MTE2", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"MTE2", "V", 0>
// CHECK-NEXT: "npu.abs"
// CHECK-NEXT: "npu.neg"
// CHECK-NEXT: return
func.func @first_consumer() {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  "npu.abs"(%a) {async.engine = "V"} : (i1) -> ()
  "npu.neg"(%a) {async.engine = "V"} : (i1) -> ()
  return
}

// Two loads before one operation: the last one's flag says that both are done.
// CHECK-LABEL: func.func @last_producer
// CHECK-NEXT: "npu.load"
// CHECK-NEXT: "npu.load"
// CHECK-NEXT: gpux.set_flag <"MTE2", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"MTE2", "V", 0>
// CHECK-NEXT: "npu.add"
// CHECK-NEXT: return
func.func @last_producer() {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  %b = "npu.load"() {async.engine = "MTE2"} : () -> i1
  "npu.add"(%a, %b) {async.engine = "V"} : (i1, i1) -> ()
  return
}

// M has waited for MTE1, and V waits for M.
// CHECK-LABEL: func.func @implied_by_others
// CHECK: "npu.mul"
// CHECK-NEXT: gpux.set_flag <"M", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"M", "V", 0>
// CHECK-NEXT: "npu.add"
func.func @implied_by_others() {
  %a = "npu.load"() {async.engine = "MTE1"} : () -> i1
  %b = "npu.mul"(%a) {async.engine = "M"} : (i1) -> i1
  "npu.add"(%a, %b) {async.engine = "V"} : (i1, i1) -> ()
  return
}

// Nothing tells MTE2 that V has taken the first flag back, so the second one has another id, unless flags count.
// CHECK-LABEL: func.func @unknown_wait
// CHECK: gpux.set_flag <"MTE2", "V", 0>
// CHECK: gpux.wait_flag <"MTE2", "V", 0>
// CHECK: gpux.set_flag <"MTE2", "V", 1>
// CHECK: gpux.wait_flag <"MTE2", "V", 1>
// COUNT-LABEL: func.func @unknown_wait
// COUNT: gpux.set_flag <"MTE2", "V", 0>
// COUNT: gpux.wait_flag <"MTE2", "V", 0>
// COUNT: gpux.set_flag <"MTE2", "V", 0>
// COUNT: gpux.wait_flag <"MTE2", "V", 0>
func.func @unknown_wait() {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  "npu.abs"(%a) {async.engine = "V"} : (i1) -> ()
  %b = "npu.load"() {async.engine = "MTE2"} : () -> i1
  "npu.abs"(%b) {async.engine = "V"} : (i1) -> ()
  return
}

// The store waits for V, and MTE2 for the store: so it knows that the first flag is free.
// CHECK-LABEL: func.func @known_wait
// CHECK: gpux.set_flag <"MTE2", "V", 0>
// CHECK: gpux.wait_flag <"MTE2", "V", 0>
// CHECK: gpux.set_flag <"V", "MTE3", 0>
// CHECK: gpux.wait_flag <"V", "MTE3", 0>
// CHECK: gpux.set_flag <"MTE3", "MTE2", 0>
// CHECK: gpux.wait_flag <"MTE3", "MTE2", 0>
// CHECK: gpux.set_flag <"MTE2", "V", 0>
// CHECK: gpux.wait_flag <"MTE2", "V", 0>
func.func @known_wait(%m: memref<64xf32>) {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  %b = "npu.abs"(%a) {async.engine = "V"} : (i1) -> i1
  "npu.store"(%b, %m) {async.engine = "MTE3", async.writes = [1]} : (i1, memref<64xf32>) -> ()
  %c = "npu.load"(%m) {async.engine = "MTE2", async.reads = [0]} : (memref<64xf32>) -> i1
  "npu.abs"(%c) {async.engine = "V"} : (i1) -> ()
  return
}

// The arms are never executed both, so they share an id.
// CHECK-LABEL: func.func @arms_share
// CHECK: scf.if
// CHECK: gpux.set_flag <"MTE2", "V", 0>
// CHECK: } else {
// CHECK: gpux.set_flag <"MTE2", "V", 0>
func.func @arms_share(%p: i1) {
  scf.if %p {
    %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
    "npu.abs"(%a) {async.engine = "V"} : (i1) -> ()
  } else {
    %b = "npu.load"() {async.engine = "MTE2"} : () -> i1
    "npu.neg"(%b) {async.engine = "V"} : (i1) -> ()
  }
  return
}
