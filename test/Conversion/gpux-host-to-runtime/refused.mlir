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
