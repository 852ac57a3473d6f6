// RUN: async-opt %s --gpux-insert-flags=event-limit=1 --allow-unregistered-dialect --verify-diagnostics --split-input-file

// expected-note @below {{schedule for fewer events (--gpux-schedule=objective=events), or raise event-limits}}
func.func @more_than_there_are(%p: i1) {
  // expected-error @below {{more than 1 flags are needed from 'MTE2' to 'V'}}
  // expected-note @below {{a flag is set after this ...}}
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  // expected-note @below {{... and is waited for here}}
  "npu.abs"(%a) {async.engine = "V"} : (i1) -> ()
  // expected-note @below {{a flag is set after this ...}}
  %b = "npu.load"() {async.engine = "MTE2"} : () -> i1
  // expected-note @below {{... and is waited for here}}
  "npu.abs"(%b) {async.engine = "V"} : (i1) -> ()
  return
}

// -----

func.func @store_of_nobody(%m: memref<64xf32>, %i: index, %x: f32) {
  // expected-note @below {{it may not pass this}}
  "npu.load"(%m) {async.engine = "MTE2", async.reads = [0]} : (memref<64xf32>) -> ()
  // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
  // expected-note @below {{say where it runs by 'async.engine'}}
  memref.store %x, %m[%i] : memref<64xf32>
  return
}

// -----

func.func @parallel_loop(%lb: index, %ub: index, %step: index) {
  // expected-error @below {{'scf.parallel' op has operations of engines inside, and it is not known how often they are executed}}
  // expected-note @below {{put them into scf.for, scf.while and scf.if}}
  scf.parallel (%i) = (%lb) to (%ub) step (%step) {
    "npu.load"() {async.engine = "MTE2"} : () -> ()
    scf.reduce
  }
  return
}

// -----

func.func @twice() {
  // expected-error @below {{there are flags already, whose ids this pass does not know to be free}}
  // expected-note @below {{run it once, on a program without flags}}
  gpux.set_flag <"MTE2", "V", 0>
  return
}

// -----

// Inside of a loop as well.
func.func @store_in_a_loop(%lb: index, %ub: index, %step: index, %x: f32) {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<64xf32>
  scf.for %i = %lb to %ub step %step {
    "npu.load"(%a) {async.engine = "MTE2", async.writes = [0]} : (memref<64xf32>) -> ()
    // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
    // expected-note @below {{say where it runs by 'async.engine'}}
    memref.store %x, %b[%i] : memref<64xf32>
  }
  // expected-note @below {{it may not pass this}}
  "npu.add"(%b) {async.engine = "V", async.reads = [0]} : (memref<64xf32>) -> ()
  return
}

// -----

// expected-error @below {{'npu.load' op runs on an engine, but is in no function, and flags are set in functions}}
// expected-note @below {{put it into a function, such as a func.func}}
"npu.load"() {async.engine = "MTE2"} : () -> ()

// -----

// Nobody waits for what an engine computes, also if something pure comes between.
func.func @value_through_a_sum(%m: memref<i32>, %x: i32) {
  // expected-note @below {{it may not pass this}}
  %y = "npu.make"() {async.engine = "S"} : () -> i32
  %sum = arith.addi %x, %y : i32
  // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
  // expected-note @below {{say where it runs by 'async.engine'}}
  memref.store %sum, %m[] : memref<i32>
  return
}

// -----

// A loop hands it on.
func.func @value_of_an_iteration(%m: memref<i32>, %x: i32, %lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step iter_args(%last = %x) -> i32 {
    // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
    // expected-note @below {{say where it runs by 'async.engine'}}
    memref.store %last, %m[] : memref<i32>
    // expected-note @below {{it may not pass this}}
    %next = "npu.make"() {async.engine = "S"} : () -> i32
    scf.yield %next : i32
  }
  return
}

// -----

// The way to it depends on what an engine computes.
func.func @condition(%m: memref<i32>, %x: i32) {
  // expected-note @below {{it may not pass this}}
  %p = "npu.compare"() {async.engine = "S"} : () -> i1
  scf.if %p {
    scf.execute_region {
      // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
      // expected-note @below {{say where it runs by 'async.engine'}}
      memref.store %x, %m[] : memref<i32>
      scf.yield
    }
    "npu.use"() {async.engine = "V"} : () -> ()
  }
  return
}

// -----

// So does how often it is executed.
func.func @while_condition(%m: memref<i32>, %x: i32) {
  scf.while : () -> () {
    // expected-note @below {{it may not pass this}}
    %p = "npu.compare"() {async.engine = "S"} : () -> i1
    scf.condition(%p)
  } do {
    // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
    // expected-note @below {{say where it runs by 'async.engine'}}
    memref.store %x, %m[] : memref<i32>
    scf.yield
  }
  return
}

// -----

// A fence on an engine orders what others do, too.
func.func @fence(%m: memref<i32>, %x: i32, %p: i1) {
  // expected-note @below {{it may not pass this}}
  gpu.barrier {async.engine = "S"}
  scf.if %p {
    // expected-error @below {{'memref.store' op runs on no engine, but has effects that depend on those of an engine}}
    // expected-note @below {{say where it runs by 'async.engine'}}
    memref.store %x, %m[] : memref<i32>
    "npu.use"() {async.engine = "V"} : () -> ()
  }
  return
}
