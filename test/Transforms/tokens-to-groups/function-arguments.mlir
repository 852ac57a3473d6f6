// A token that arrives as a function argument has no known queue.
//
// RUN: async-opt %s --gpux-tokens-to-groups --split-input-file --verify-diagnostics

// expected-error @+2 {{a token that is a function argument has no known queue}}
// expected-note @+1 {{await it in the caller, or run --gpux-inline-calls first}}
func.func @awaited(%t: !async.token) {
  async.await %t
  return
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{a token that is a function argument has no known queue}}
  // expected-note @+1 {{await it in the caller, or run --gpux-inline-calls first}}
  gpu.func @handed_on(%t: !async.token, %i: index, %n: index) {
    scf.for %k = %i to %n step %i iter_args(%x = %t) -> !async.token {
      scf.yield %x : !async.token
    }
    gpu.return
  }
}

// -----

// Nobody asks for its queue.
func.func @unused(%t: !async.token) {
  return
}

// -----

// Host code awaits such tokens without counting.
func.func @host(%t: !async.token, %m: memref<8xf32>, %v: f32, %i: index) {
  %u = async.region [%t] {
    memref.store %v, %m[%i] : memref<8xf32>
    async.yield
  }
  async.await %u
  return
}
