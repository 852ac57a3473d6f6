// RUN: async-opt %s --gpux-schedule --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,LATENCY
// RUN: async-opt %s --gpux-schedule=objective=events --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,EVENTS
// RUN: async-opt %s --gpux-schedule=event-limits=MTE2:V=1 --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,LIMITED

// Operations of a dialect that nobody knows, on the engines of an NPU.

// The second load starts while the first one is on its way; that takes two events.
// CHECK-LABEL: func.func @latency_is_hidden
// LATENCY: "npu.load"() {{.*}} -> i1
// LATENCY-NEXT: "npu.load"() {{.*}} -> i2
// LATENCY-NEXT: "npu.abs"
// LATENCY-NEXT: "npu.add"
// EVENTS: "npu.load"() {{.*}} -> i1
// EVENTS-NEXT: "npu.abs"
// EVENTS-NEXT: "npu.load"() {{.*}} -> i2
// EVENTS-NEXT: "npu.add"
// LIMITED: "npu.load"() {{.*}} -> i1
// LIMITED-NEXT: "npu.abs"
// LIMITED-NEXT: "npu.load"() {{.*}} -> i2
// LIMITED-NEXT: "npu.add"
func.func @latency_is_hidden() {
  %a = "npu.load"() {async.engine = "MTE2", async.latency = 20 : i64, async.occupancy = 1 : i64} : () -> i1
  %b = "npu.abs"(%a) {async.engine = "V", async.latency = 5 : i64} : (i1) -> i3
  %c = "npu.load"() {async.engine = "MTE2", async.latency = 20 : i64, async.occupancy = 1 : i64} : () -> i2
  %d = "npu.add"(%b, %c) {async.engine = "V", async.latency = 5 : i64} : (i3, i2) -> i4
  return
}

// What runs on no engine takes no time, and hands on what it is made of: the view needs an event as the tile does.
// CHECK-LABEL: func.func @views_hand_on
// EVENTS: "npu.load"() {{.*}} -> tensor<8xf32>
// EVENTS-NEXT: tensor.cast
// EVENTS-NEXT: "npu.use"
// EVENTS-NEXT: "npu.load"() {{.*}} -> tensor<4xf32>
// EVENTS-NEXT: tensor.cast
// EVENTS-NEXT: "npu.use"
func.func @views_hand_on() {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> tensor<8xf32>
  %b = "npu.load"() {async.engine = "MTE2"} : () -> tensor<4xf32>
  %c = tensor.cast %a : tensor<8xf32> to tensor<?xf32>
  %d = tensor.cast %b : tensor<4xf32> to tensor<?xf32>
  "npu.use"(%c) {async.engine = "V"} : (tensor<?xf32>) -> ()
  "npu.use"(%d) {async.engine = "V"} : (tensor<?xf32>) -> ()
  return
}

// Nothing is gained: the order stays.
// CHECK-LABEL: func.func @stable
// CHECK-NEXT: "npu.load"() {{.*}} -> i1
// CHECK-NEXT: "npu.mul"
// CHECK-NEXT: "npu.store"
// CHECK-NEXT: "npu.scalar"
// CHECK-NEXT: return
func.func @stable() {
  %a = "npu.load"() {async.engine = "MTE1", async.latency = 9 : i64} : () -> i1
  %b = "npu.mul"(%a) {async.engine = "M", async.latency = 9 : i64} : (i1) -> i2
  "npu.store"(%b) {async.engine = "MTE3", async.latency = 9 : i64} : (i2) -> ()
  "npu.scalar"() {async.engine = "S"} : () -> ()
  return
}

// Blocks without engines are left alone.
// CHECK-LABEL: func.func @no_engine
// CHECK-NEXT: "npu.first"
// CHECK-NEXT: "npu.second"
func.func @no_engine() {
  "npu.first"() : () -> ()
  "npu.second"() : () -> ()
  return
}
