// RUN: async-opt %s --gpux-schedule=event-limit=2 --allow-unregistered-dialect --verify-diagnostics --split-input-file

// Three loads for one operation need three events, whatever the order.
func.func @three_for_one() {
  // expected-warning @below {{no order meets all limits; MTE2:V has 3, but the limit is 2}}
  // expected-note @below {{makespan of 5 operations 4 (the least); events MTE2:V 3; events V:MTE3 1}}
  // expected-note @below {{these 4 operations alone do not fit into the limits; without any one of them, they would}}
  // expected-note @below {{'npu.load'}}
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  // expected-note @below {{'npu.load'}}
  %b = "npu.load"() {async.engine = "MTE2"} : () -> i1
  // expected-note @below {{'npu.load'}}
  %c = "npu.load"() {async.engine = "MTE2"} : () -> i1
  // expected-note @below {{'npu.add'}}
  %d = "npu.add"(%a, %b, %c) {async.engine = "V"} : (i1, i1, i1) -> i1
  "npu.store"(%d) {async.engine = "MTE3", async.latency = 0 : i64} : (i1) -> ()
  return
}

// -----

// Two at a time fit.
func.func @two_and_two() {
  // expected-remark @below {{makespan of 6 operations 5 (the least); events MTE2:V 4 -> 2}}
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  %b = "npu.load"() {async.engine = "MTE2"} : () -> i1
  %c = "npu.load"() {async.engine = "MTE2"} : () -> i1
  %d = "npu.load"() {async.engine = "MTE2"} : () -> i1
  "npu.add"(%a, %b) {async.engine = "V"} : (i1, i1) -> ()
  "npu.add"(%c, %d) {async.engine = "V"} : (i1, i1) -> ()
  return
}

// -----

// A value of the last iteration takes an event from the start of this one until it is used. The loop is not reported again where
// it stands.
func.func @carried(%n: index, %step: index, %x: i1) {
  %r:3 = scf.for %i = %n to %n step %step iter_args(%a = %x, %b = %x, %c = %x) -> (i1, i1, i1) {
    // expected-warning @below {{no order meets all limits; MTE2:V has 3, but the limit is 2}}
    // expected-note @below {{makespan of 4 operations 3 (the least); events MTE2:V 6 -> 3}}
    // expected-note @below {{these 4 operations alone do not fit into the limits; without any one of them, they would}}
    // expected-note @below {{'npu.load'}}
    %d = "npu.load"() {async.engine = "MTE2"} : () -> i1
    // expected-note @below {{'npu.load'}}
    %e = "npu.load"() {async.engine = "MTE2"} : () -> i1
    // expected-note @below {{'npu.load'}}
    %f = "npu.load"() {async.engine = "MTE2"} : () -> i1
    // expected-note @below {{'npu.add'}}
    "npu.add"(%a, %b, %c) {async.engine = "V"} : (i1, i1, i1) -> ()
    scf.yield %d, %e, %f : i1, i1, i1
  }
  return
}
