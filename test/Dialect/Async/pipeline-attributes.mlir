// RUN: async-opt %s --split-input-file --verify-diagnostics

// What --async-pipeline reads is checked wherever it stands.

func.func @well_formed(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.barrier {async.stage = 0, async.order = 1}
    scf.for %j = %c0 to %n step %c1 {
    } {async.stage = [0, 1, 1], async.order = [0, 2, 3]}
  } {async.async_stages = [0]}
  scf.for %i = %c0 to %n step %c1 {
  } {async.num_stages = 3}
  return
}

// -----

func.func @unknown() {
  // expected-error @below {{has attribute 'async.stages', which the async dialect does not have}}
  gpu.barrier {async.stages = 3}
  return
}

// -----

func.func @no_number() {
  // expected-error @below {{attribute 'async.stage' must be an integer that is not negative}}
  gpu.barrier {async.stage = "0", async.order = 0}
  return
}

// -----

func.func @negative() {
  // expected-error @below {{attribute 'async.order' must be an integer that is not negative}}
  gpu.barrier {async.stage = 0, async.order = -1}
  return
}

// -----

func.func @three_stages_of_no_loop() {
  // expected-error @below {{attribute 'async.stage' must be an integer that is not negative}}
  gpu.barrier {async.stage = [0, 1, 2], async.order = 0}
  return
}

// -----

func.func @two_stages_of_a_loop(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-error @below {{must be an integer that is not negative, or three of them: for the prologue, the kernel and the epilogue of the loop}}
  scf.for %i = %c1 to %n step %c1 {
  } {async.stage = [0, 1]}
  return
}

// -----

func.func @no_loop() {
  // expected-error @below {{attribute 'async.num_stages' belongs on a loop}}
  gpu.barrier {async.num_stages = 3}
  return
}

// -----

func.func @no_stages(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-error @below {{attribute 'async.num_stages' must be a positive integer}}
  scf.for %i = %c1 to %n step %c1 {
  } {async.num_stages = 0}
  return
}

// -----

func.func @no_array(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-error @below {{attribute 'async.async_stages' must be an array of integers that are not negative}}
  scf.for %i = %c1 to %n step %c1 {
  } {async.async_stages = 0}
  return
}
