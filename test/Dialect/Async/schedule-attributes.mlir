// RUN: async-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// What --gpux-schedule reads is checked on operations of any dialect.

func.func @well_formed(%a: memref<4xf32>) {
  "npu.copy"(%a, %a) {async.engine = "MTE2", async.latency = 4 : i64, async.occupancy = 0 : i64,
      async.reads = [0], async.writes = [1]} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @no_name() {
  // expected-error @below {{attribute 'async.engine' must be a name of letters, digits and '_'}}
  "npu.copy"() {async.engine = "MTE2:V"} : () -> ()
  return
}

// -----

func.func @no_string() {
  // expected-error @below {{attribute 'async.engine' must be a name of letters, digits and '_'}}
  "npu.copy"() {async.engine = 2} : () -> ()
  return
}

// -----

func.func @negative() {
  // expected-error @below {{attribute 'async.latency' must be a number of cycles, an i64 from 0 on}}
  "npu.copy"() {async.latency = -1 : i64} : () -> ()
  return
}

// -----

func.func @small() {
  // expected-error @below {{attribute 'async.occupancy' must be a number of cycles, an i64 from 0 on}}
  "npu.copy"() {async.occupancy = 1 : i32} : () -> ()
  return
}

// -----

func.func @no_such_operand(%a: memref<4xf32>) {
  // expected-error @below {{attribute 'async.reads' must be an array of numbers of operands, from 0 on}}
  "npu.copy"(%a) {async.reads = [1]} : (memref<4xf32>) -> ()
  return
}

// -----

func.func @no_array(%a: memref<4xf32>) {
  // expected-error @below {{attribute 'async.writes' must be an array of numbers of operands, from 0 on}}
  "npu.copy"(%a) {async.writes = 0} : (memref<4xf32>) -> ()
  return
}
