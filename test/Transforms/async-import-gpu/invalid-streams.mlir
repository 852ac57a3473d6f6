// RUN: async-opt %s --async-import-gpu="gpu-tokens=stream" --split-input-file --verify-diagnostics

!d = memref<8xf32, 1>

// expected-error @+2 {{'func.func' op has a stream go from one function to another}}
// expected-note @+1 {{run --inline first, or await the token before}}
func.func @argument(%t: !gpu.async.token) {
  gpu.wait [%t]
  return
}

// -----

func.func @returned() -> !gpu.async.token {
  %t = gpu.wait async
  // expected-error @+2 {{'func.return' op has a stream go from one function to another}}
  // expected-note @+1 {{run --inline first}}
  return %t : !gpu.async.token
}

// -----

!d = memref<8xf32, 1>
func.func @task(%a: !d, %b: !d) {
  // expected-note @+1 {{the stream is made here}}
  %w = gpu.wait async
  // expected-error @+2 {{'async.region' op has a task use a stream from outside of it, and what else is put there meanwhile is not known}}
  // expected-note @+1 {{make a stream in the task, with gpu.wait async}}
  %t = async.region {
    %x = gpu.memcpy async [%w] %a, %b : !d, !d
    async.yield
  }
  async.await %t
  return
}

// -----

!d = memref<8xf32, 1>
func.func @parallel(%a: !d, %b: !d, %n: index) {
  // expected-note @+1 {{the stream is made here}}
  %w = gpu.wait async
  // expected-error @+2 {{'scf.parallel' op puts operations into a stream from outside of it, and its body can't pass on a token}}
  // expected-note @+1 {{make a stream inside, with gpu.wait async}}
  scf.parallel (%i) = (%n) to (%n) step (%n) {
    %x = gpu.memcpy async [%w] %a, %b : !d, !d
    scf.reduce
  }
  return
}
