// RUN: async-opt %s --split-input-file --verify-diagnostics

func.func @alloc_on_host() {
  // expected-error @below {{'gpux.alloc' op allocates the device's memory (#gpu.address_space<global>), but returns 'memref<8xf32>'}}
  %m = gpux.alloc () : memref<8xf32>
  return
}

// -----

func.func @host_alloc_on_device() {
  // expected-error @below {{'gpux.host_alloc' op allocates the host's memory (the default memory space), but returns 'memref<8xf32, 1>'}}
  %m = gpux.host_alloc () : memref<8xf32, 1>
  return
}

// -----

func.func @strided() {
  // expected-error @below {{but what is allocated is contiguous: take a view of it}}
  %m = gpux.alloc () : memref<8xf32, strided<[2]>, 1>
  return
}

// -----

func.func @sizes() {
  // expected-error @below {{'gpux.alloc' op has 0 sizes, but 'memref<?xf32, 1>' needs 1}}
  %m = gpux.alloc () : memref<?xf32, 1>
  return
}

// -----

func.func @dependencies_without_token(%m: memref<8xf32, 1>, %t: !async.token) {
  // expected-error @below {{'gpux.dealloc' op has dependencies, but returns no token: without 'async', await them before the op}}
  "gpux.dealloc"(%t, %m) : (!async.token, memref<8xf32, 1>) -> ()
  return
}

// -----

func.func @memset_of_host(%m: memref<8xf32>, %f: f32) {
  // expected-error @below {{'gpux.memset' op sets 'memref<8xf32>', which is not in the device's memory (#gpu.address_space<global>)}}
  gpux.memset %f, %m : memref<8xf32>
  return
}

// -----

func.func @memset_of_other_elements(%m: memref<8xf32, 1>, %f: f64) {
  // expected-error @below {{'gpux.memset' op failed to verify that value is an element of the buffer}}
  "gpux.memset"(%f, %m) : (f64, memref<8xf32, 1>) -> ()
  return
}

// -----

func.func @memset_of_complex_elements(%m: memref<8xcomplex<f32>, 1>, %c: complex<f32>) {
  // expected-error @below {{'gpux.memset' op sets elements of type 'complex<f32>', which are neither integers nor floating-point numbers}}
  gpux.memset %c, %m : memref<8xcomplex<f32>, 1>
  return
}

// -----

func.func @memset_without_token(%m: memref<8xf32, 1>, %f: f32, %t: !async.token) {
  // expected-error @below {{'gpux.memset' op has dependencies, but returns no token}}
  "gpux.memset"(%t, %f, %m) : (!async.token, f32, memref<8xf32, 1>) -> ()
  return
}

// -----

func.func @free_workgroup_memory(%m: memref<8xf32, 3>) {
  // expected-error @below {{'gpux.dealloc' op can't free 'memref<8xf32, 3>', which is neither in the host's nor in the device's memory}}
  gpux.dealloc %m : memref<8xf32, 3>
  return
}

// -----

func.func @no_place(%x: tensor<8xf32>) {
  // expected-error @below {{'gpux.transfer' op transfers a tensor, but does not say where to: write 'to host' or 'to device'}}
  %y = gpux.transfer %x : tensor<8xf32>
  return
}

// -----

func.func @other_type(%x: tensor<8xf32>) {
  // expected-error @below {{'gpux.transfer' op returns 'tensor<4xf32>', but transfers 'tensor<8xf32>'}}
  %y = gpux.transfer %x to host : tensor<8xf32> to tensor<4xf32>
  return
}

// -----

func.func @within_host(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{'gpux.transfer' op transfers from host to host: use 'memref.copy'}}
  gpux.transfer %x, %y : memref<8xf32>
  return
}

// -----

func.func @other_shape(%x: memref<8xf32>, %y: memref<4xf32, 1>) {
  // expected-error @below {{which has another shape or element type}}
  gpux.transfer %x, %y : memref<8xf32> to memref<4xf32, 1>
  return
}

// -----

func.func @place_of_destination(%x: memref<8xf32>, %y: memref<8xf32, 1>) {
  // expected-error @below {{'gpux.transfer' op has a destination, whose type says where it is: drop 'to device'}}
  gpux.transfer %x, %y to device : memref<8xf32> to memref<8xf32, 1>
  return
}

// -----

func.func @wrong_place(%x: memref<8xf32>) {
  // expected-error @below {{'gpux.transfer' op returns 'memref<8xf32, 1>', which is in the device's memory: write 'to device'}}
  %y = gpux.transfer %x to host : memref<8xf32> to memref<8xf32, 1>
  return
}

// -----

func.func @transfer_from_workgroup(%x: memref<8xf32, 3>, %y: memref<8xf32>) {
  // expected-error @below {{'gpux.transfer' op can't transfer 'memref<8xf32, 3>', which is neither in the host's nor in the device's memory}}
  gpux.transfer %x, %y : memref<8xf32, 3> to memref<8xf32>
  return
}

// -----

func.func @no_module() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{'gpux.async_launch' op launches @kernels::@k, but no 'gpu.module' or 'gpu.binary' "kernels" is in scope}}
  gpux.async_launch @kernels::@k blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1)
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @no_such_kernel() {
    %c1 = arith.constant 1 : index
    // expected-error @below {{'gpux.async_launch' op launches @kernels::@g, but its module has no kernel of that name}}
    gpux.async_launch @kernels::@g blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // expected-note @below {{it is this 'gpu.func'}}
    gpu.func @f(%x: f32) {
      gpu.return
    }
  }
  func.func @no_kernel() {
    %c1 = arith.constant 1 : index
    // expected-error @below {{'gpux.async_launch' op launches @kernels::@f, which is not a kernel}}
    gpux.async_launch @kernels::@f blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @arguments() {
    %c1 = arith.constant 1 : index
    // expected-error @below {{'gpux.async_launch' op passes 0 arguments, but @kernels::@k takes 1}}
    gpux.async_launch @kernels::@k blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @argument_type(%x: i32) {
    %c1 = arith.constant 1 : index
    // expected-error @below {{'gpux.async_launch' op passes 'i32' as argument #0, but @kernels::@k takes 'f32'}}
    gpux.async_launch @kernels::@k blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1) args (%x : i32)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @not_nested(%x: f32) {
    %c1 = arith.constant 1 : index
    // expected-error @below {{'gpux.async_launch' op launches @kernels, but a kernel is named by its module and its name: @module::@kernel}}
    gpux.async_launch @kernels blocks (%c1, %c1, %c1) threads (%c1, %c1, %c1) args (%x : f32)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @only_one_size(%x: f32) {
    %c1 = arith.constant 1 : index
    // expected-error @below {{'gpux.async_launch' op has 1 sizes of 'blocks', one for each of three dimensions is needed (1 where there is but one)}}
    gpux.async_launch @kernels::@k blocks (%c1) threads (%c1, %c1, %c1) args (%x : f32)
    return
  }
}
