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

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @load(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @tensor_map(%m: !map) {
    %c1 = arith.constant 1 : index
    // expected-error @+2 {{'gpux.async_launch' op has a value of type '!nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>', which has no counterpart in LLVM}}
    // expected-note @+1 {{host code and the kernels that it launches exchange numbers, vectors and buffers with strides; async-sim runs programs with tensor map descriptors}}
    gpux.async_launch @kernels::@load blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1) args(%m : !map)
    return
  }
}

// -----

#tiles = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @tiles(%m: memref<8xf32, #tiles>) kernel {
      gpu.return
    }
  }
  func.func @layout(%m: memref<8xf32, #tiles>) {
    %c1 = arith.constant 1 : index
    // expected-error @+2 {{has a value of type 'memref<8xf32, affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>>', which has no counterpart in LLVM}}
    // expected-note @+1 {{exchange numbers, vectors and buffers with strides}}
    gpux.async_launch @kernels::@tiles blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1) args(%m : memref<8xf32, #tiles>)
    return
  }
}

// -----

func.func @elements() {
  // expected-error @+2 {{has a value of type 'memref<8xtf32, #gpu.address_space<global>>', which has no counterpart in LLVM}}
  // expected-note @+1 {{exchange numbers}}
  %m = gpux.alloc () : memref<8xtf32, #gpu.address_space<global>>
  return
}
