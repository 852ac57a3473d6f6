// RUN: async-opt %s --gpux-schedule=objective=events --allow-unregistered-dialect 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-schedule --allow-unregistered-dialect 2>/dev/null | FileCheck %s --check-prefix=LATENCY

// What is independent crosses operations with regions: the load is used at once.
// CHECK-LABEL: func.func @crosses_a_conditional
// CHECK: "npu.load"() {{.*}} -> i1
// CHECK: scf.if
// CHECK: "npu.use"({{.*}}) {{.*}} (i1)
// CHECK: }
// CHECK: "npu.load"() {{.*}} -> i2
// CHECK-NEXT: "npu.use"({{.*}}) {{.*}} (i2)
// LATENCY-LABEL: func.func @crosses_a_conditional
func.func @crosses_a_conditional(%p: i1) {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  %b = "npu.load"() {async.engine = "MTE2"} : () -> i2
  scf.if %p {
    "npu.use"(%a) {async.engine = "V"} : (i1) -> ()
  }
  "npu.use"(%b) {async.engine = "V"} : (i2) -> ()
  return
}

// Operations with regions keep their order, even where the first one has to wait.
// LATENCY-LABEL: func.func @boxes_keep_their_order
// LATENCY: scf.if
// LATENCY: "npu.short"
// LATENCY: scf.if
// LATENCY: "npu.long"
func.func @boxes_keep_their_order(%p: i1) {
  %y = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  scf.if %p {
    "npu.short"(%y) {async.engine = "S"} : (i32) -> ()
  }
  %x = scf.if %p -> i32 {
    %long = "npu.long"() {async.engine = "V", async.latency = 50 : i64} : () -> i32
    scf.yield %long : i32
  } else {
    %other = "npu.other"() {async.engine = "V", async.latency = 50 : i64} : () -> i32
    scf.yield %other : i32
  }
  "npu.last"(%x) {async.engine = "S"} : (i32) -> ()
  return
}

// The effects of a box are those of what is inside.
// LATENCY-LABEL: func.func @effects_inside
// LATENCY: "npu.write"
// LATENCY: "npu.read"
func.func @effects_inside(%p: i1) {
  %a = memref.alloc() : memref<64xf32>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32>) -> ()
  scf.if %p {
    "npu.read"(%a) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32>) -> ()
  }
  return
}

// Inner blocks are scheduled, too.
// LATENCY-LABEL: func.func @body_of_a_loop
// LATENCY: scf.for
// LATENCY-NEXT: "npu.short"
// LATENCY-NEXT: "npu.long"
// LATENCY-NEXT: "npu.use"
func.func @body_of_a_loop(%n: index, %step: index) {
  scf.for %i = %n to %n step %step {
    %x = "npu.short"() {async.engine = "MTE2", async.latency = 1 : i64} : () -> i32
    %y = "npu.use"(%x) {async.engine = "V", async.latency = 1 : i64} : (i32) -> i32
    "npu.long"() {async.engine = "V", async.latency = 50 : i64, async.occupancy = 1 : i64} : () -> ()
  }
  return
}
