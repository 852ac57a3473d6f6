// RUN: async-opt %s --async-import-gpu --split-input-file --verify-diagnostics

func.func @meets(%c: i1) {
  // expected-note @+1 {{memory of the device comes from here}}
  %m = gpu.alloc () : memref<8xf32>
  // expected-error @+1 {{memory that is not of the device gets to where memory of the device does, too, and a memref is of one memory space}}
  %h = memref.alloc() : memref<8xf32>
  %s = arith.select %c, %h, %m : memref<8xf32>
  return
}

// -----

func.func @other_space() {
  // expected-error @+2 {{'gpu.alloc' op allocates 'memref<8xf32, 3>', which is not memory of the device}}
  // expected-note @+1 {{leave its memory space out, or name that of the device with device-space}}
  %m = gpu.alloc () : memref<8xf32, 3>
  return
}

// -----

func.func @inline_kernel(%n: index, %t: !gpu.async.token) -> !gpu.async.token {
  // expected-error @+2 {{'gpu.launch' op has a token, and no counterpart in 'gpux'}}
  // expected-note @+1 {{run --gpu-kernel-outlining first}}
  %u = gpu.launch async [%t] blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n)
      threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    gpu.terminator
  }
  return %u : !gpu.async.token
}

// -----

func.func @library(%n: index, %m: memref<8xf32>, %t: !gpu.async.token) {
  // expected-error @+2 {{'gpu.create_dn_tensor' op has a token, and no counterpart in 'gpux'}}
  // expected-note @+1 {{make it synchronous, and await what it depends on before}}
  %d, %u = gpu.create_dn_tensor async [%t] %m, %n : index into memref<8xf32>
  return
}

// -----

// expected-error @+2 {{'func.func' op has a type made of tokens, 'tuple<!gpu.async.token>', which can't be imported}}
// expected-note @+1 {{pass on the tokens themselves}}
func.func private @tuple(tuple<!gpu.async.token>)

// -----

func.func @memset_of_host(%m: memref<8xf32>, %f: f32) {
  // expected-error @+2 {{'gpu.memset' op sets memory of the host: no 'gpu.alloc' in this module allocates it}}
  // expected-note @+1 {{set it with linalg.fill}}
  gpu.memset %m, %f : memref<8xf32>, f32
  return
}
