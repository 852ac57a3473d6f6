// RUN: async-opt %s --split-input-file --verify-diagnostics --transform-interpreter

// A loop that can't be pipelined makes it fail, for the reason that the pass would give in a remark.

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @nothing_to_start_early(%out: memref<8xf32>, %v: f32, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-error @below {{'scf.for' op is not pipelined}}
      // expected-note @below {{'scf.for' op has no transfer from global memory that could be started early}}
      scf.for %i = %c0 to %n step %c1 {
        memref.store %v, %out[%i] : memref<8xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 3} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A script may go on.

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @silenced(%out: memref<8xf32>, %v: f32, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        memref.store %v, %out[%i] : memref<8xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.sequence %root : !transform.any_op failures(suppress) {
    ^bb0(%payload: !transform.any_op):
      %loop = transform.structured.match ops{["scf.for"]} in %payload : (!transform.any_op) -> !transform.any_op
      transform.async.pipeline %loop {num_stages = 3} : (!transform.any_op) -> !transform.any_op
    }
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @wrong_annotations(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        // expected-note @below {{defined here}}
        %v = memref.load %in[%i] {async.stage = 0, async.order = 1} : memref<8xf32>
        // expected-error @below {{'memref.store' op is in stage 0, order 0, but needs what is defined in stage 0, order 1}}
        memref.store %v, %out[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @two_answers(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-error @below {{'scf.for' op has 'async.num_stages', but an operation of its body has a stage of its own}}
      scf.for %i = %c0 to %n step %c1 {
        // expected-note @below {{remove the one or the other}}
        %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
        memref.store %v, %out[%i] {async.stage = 1, async.order = 1} : memref<8xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @no_answer(%out: memref<8xf32>, %v: f32, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-error @below {{'scf.for' op does not say how it is to be pipelined: give it 'async.num_stages', or 'num_stages' to the transform}}
      scf.for %i = %c0 to %n step %c1 {
        memref.store %v, %out[%i] : memref<8xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @no_loop() kernel {
      // expected-error @below {{'gpu.barrier' op is not an 'scf.for' in a function: only those are pipelined}}
      gpu.barrier
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["gpu.barrier"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @launch(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{apply --gpu-kernel-outlining first}}
    gpu.launch blocks(%b0, %b1, %b2) in (%g0 = %c1, %g1 = %c1, %g2 = %c1)
        threads(%t0, %t1, %t2) in (%s0 = %c1, %s1 = %c1, %s2 = %c1) {
      // expected-error @below {{'scf.for' op is in a gpu.launch, which is not a function yet, so no barrier can be placed in it}}
      scf.for %i = %c0 to %n step %c1 {
        %v = memref.load %in[%i] : memref<8xf32>
        memref.store %v, %out[%i] : memref<8xf32>
      }
      gpu.terminator
    }
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %loop {num_stages = 2} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @unknown_word(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %v = memref.load %in[%i] : memref<8xf32>
        memref.store %v, %out[%i] : memref<8xf32>
      }
      gpu.return
    }
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{short_trips is 'peel', but must be guard or branch}}
    transform.async.pipeline %loop {num_stages = 2, short_trips = "peel"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{attribute 'num_stages' failed to satisfy constraint}}
    transform.async.pipeline %loop {num_stages = 0} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
