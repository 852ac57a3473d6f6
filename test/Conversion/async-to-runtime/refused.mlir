// What can't be lowered is an error at its place.

// RUN: async-opt %s --async-to-runtime --split-input-file --verify-diagnostics

func.func @not_outlined(%m: memref<i32>, %x: i32) -> !async.token {
  // expected-error @+2 {{'async.region' op has another body than a call of a function}}
  // expected-note @+1 {{run --async-outline first}}
  %t = async.region {
    memref.store %x, %m[] : memref<i32>
    async.yield
  }
  return %t : !async.token
}

// -----

func.func @structured(%c: i1, %t: !async.token) {
  scf.if %c {
    // expected-error @+2 {{'async.await' op is inside of 'scf.if'}}
    // expected-note @+1 {{run --async-outline and --convert-scf-to-cf first}}
    async.await %t
  }
  return
}

// -----

// expected-error @+2 {{'async.func' op is not a plain function or call}}
// expected-note @+1 {{run --async-outline first}}
async.func @dialect(%t: !async.token) -> !async.token {
  async.yield %t : !async.token
}

// -----

// expected-error @+2 {{'func.func' op takes or returns a value of type 'tensor<4xf32>', which has no counterpart in LLVM}}
// expected-note @+1 {{on the host, a memref has a plain layout and no memory space, a vector a fixed length, and nothing is a tensor}}
func.func private @task(%x: tensor<4xf32>) {
  return
}
func.func @tensor(%x: tensor<4xf32>) -> !async.token {
  %t = async.region {
    func.call @task(%x) : (tensor<4xf32>) -> ()
    async.yield
  }
  return %t : !async.token
}

// -----

func.func private @body(%n: index, %t: !async.token) {
  // expected-error @+2 {{'memref.alloca' op allocates of a size that is not constant, on the stack of a task that is suspended meanwhile}}
  // expected-note @+1 {{use memref.alloc and memref.dealloc}}
  %m = memref.alloca(%n) : memref<?xi32>
  async.await %t
  return
}
func.func @stack(%n: index, %t: !async.token) -> !async.token {
  %u = async.region {
    func.call @body(%n, %t) : (index, !async.token) -> ()
    async.yield
  }
  return %u : !async.token
}

// -----

// expected-note @+1 {{run --async-outline, which makes a function of its own for each region}}
func.func private @body() {
  return
}
func.func @shared() -> !async.token {
  %u = async.region {
    func.call @body() : () -> ()
    async.yield
  }
  // expected-error @+1 {{'func.call' op calls the body of a region}}
  call @body() : () -> ()
  return %u : !async.token
}

// -----

func.func @scope(%c: i1) {
  memref.alloca_scope {
    // expected-error @+2 {{'cf.assert' op is inside of 'memref.alloca_scope'}}
    // expected-note @+1 {{move it out of the scope, or allocate with memref.alloc}}
    cf.assert %c, "is false"
  }
  return
}

// -----

func.func private @takes_token(%t: !async.token) {
  return
}
func.func @pointer(%t: !async.token) {
  // expected-error @+2 {{has tokens in the type of a function that is a value}}
  // expected-note @+1 {{call the function by its name}}
  %f = func.constant @takes_token : (!async.token) -> ()
  call_indirect %f(%t) : (!async.token) -> ()
  return
}

// -----

func.func @device() {
  // expected-error @+2 {{'gpux.alloc' op is not lowered for the host}}
  // expected-note @+1 {{run --gpux-host-to-runtime first, or --async-lower-to-cpu}}
  %d = gpux.alloc () : memref<4xf32, #gpu.address_space<global>>
  gpux.dealloc %d : memref<4xf32, #gpu.address_space<global>>
  return
}

// -----

// expected-error @+2 {{'asyncopt_rt_create' is a function of the runtime, and not declared as it is}}
// expected-note @+1 {{drop it, or declare it as 'func.func private @asyncopt_rt_create' of type (!llvm.ptr) -> !llvm.ptr}}
func.func private @asyncopt_rt_create(i32) -> i32
func.func @join(%t: !async.token) -> !async.token {
  %u = async.join %t
  return %u : !async.token
}

// -----

// expected-error @+2 {{'asyncopt_rt_create' is a function of the runtime, and not declared as it is}}
// expected-note @+1 {{drop it, or declare it}}
llvm.func @asyncopt_rt_create(!llvm.ptr) -> !llvm.ptr
func.func @join_in_another_dialect(%t: !async.token) -> !async.token {
  %u = async.join %t
  return %u : !async.token
}

// -----

// As it is, it may be declared.
func.func private @asyncopt_rt_create(!llvm.ptr) -> !llvm.ptr
func.func @join_with_declaration(%t: !async.token) -> !async.token {
  %u = async.join %t
  return %u : !async.token
}

// -----

// expected-error @+2 {{takes or returns a value of type 'vector<[4]xf32>', which has no counterpart in LLVM}}
// expected-note @+1 {{a vector a fixed length}}
func.func private @length_of_the_hardware(%v: vector<[4]xf32>) {
  return
}
func.func @captures_scalable_vector(%v: vector<[4]xf32>) -> !async.token {
  %t = async.region {
    func.call @length_of_the_hardware(%v) : (vector<[4]xf32>) -> ()
    async.yield
  }
  return %t : !async.token
}

// -----

// The runtime aligns frames to 4096 bytes at most.
// expected-error @+2 {{takes or returns a value of type 'vector<1024xf64>', which the frame of a task can't hold}}
// expected-note @+1 {{hand it on in a buffer; values in frames are of a known size, and aligned to 4096 bytes at most}}
func.func private @take(%v: vector<1024xf64>) {
  return
}
func.func @long_vector(%v: vector<1024xf64>) -> !async.token {
  %t = async.region {
    func.call @take(%v) : (vector<1024xf64>) -> ()
    async.yield
  }
  return %t : !async.token
}

// -----

// expected-error @+2 {{takes or returns a value of type '!llvm.struct<"unknown", opaque>', which the frame of a task can't hold}}
// expected-note @+1 {{hand it on in a buffer}}
func.func private @take(%v: !llvm.struct<"unknown", opaque>) {
  return
}
func.func @opaque(%v: !llvm.struct<"unknown", opaque>) -> !async.token {
  %t = async.region {
    func.call @take(%v) : (!llvm.struct<"unknown", opaque>) -> ()
    async.yield
  }
  return %t : !async.token
}
