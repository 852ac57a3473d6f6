// What can't be lowered is an error at its place.

// RUN: async-opt %s --gpux-host-to-runtime --split-input-file --verify-diagnostics

func.func @tensor(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{'gpux.transfer' op has a value of type 'tensor<8xf32>'}}
  // expected-note @+1 {{run --one-shot-bufferize first, and give buffers a rank}}
  %d = gpux.transfer %x to device : tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

func.func @view(%m: memref<4xf32, strided<[2]>, #gpu.address_space<global>>, %f: f32) {
  // expected-error @+2 {{which do not lie in a row}}
  // expected-note @+1 {{set the buffer that this is a view of, or transfer the values}}
  gpux.memset %f, %m : memref<4xf32, strided<[2]>, #gpu.address_space<global>>
  return
}

// -----

func.func @length_of_the_hardware() {
  // expected-error @+2 {{'gpux.alloc' op has a value of type 'memref<4xvector<[4]xf32>, #gpu.address_space<global>>', whose size is not known}}
  // expected-note @+1 {{use vectors of a fixed length}}
  %d = gpux.alloc () : memref<4xvector<[4]xf32>, #gpu.address_space<global>>
  return
}

// -----

// expected-error @+2 {{'asyncopt_rt_device_memset' is a function of the runtime, and not declared as it is}}
// expected-note @+1 {{drop it, or declare it}}
func.func private @asyncopt_rt_device_memset(i32) -> i32
func.func @memset(%m: memref<4xf32, #gpu.address_space<global>>, %f: f32) {
  gpux.memset %f, %m : memref<4xf32, #gpu.address_space<global>>
  return
}
