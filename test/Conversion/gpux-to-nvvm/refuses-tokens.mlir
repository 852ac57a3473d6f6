// RUN: async-opt %s --split-input-file --gpux-to-nvvm --verify-diagnostics

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @token_copy {
  gpu.func @kernel(%src: memref<64xf32>, %i: index) workgroup(%dst: !Buffer) kernel {
    // expected-error @+2 {{'gpux.copy' op has a token, and the hardware has no tokens}}
    // expected-note @+1 {{run --gpux-tokens-to-groups before --gpux-to-nvvm}}
    %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to !Buffer
    async.await %t
    gpu.return
  }
}

// -----

gpu.module @token_commit {
  gpu.func @kernel() kernel {
    // expected-error @+2 {{'gpux.commit_group' op has a token, and the hardware has no tokens}}
    // expected-note @+1 {{run --gpux-tokens-to-groups before --gpux-to-nvvm}}
    %t = gpux.commit_group async <wgmma>
    gpu.return
  }
}

// -----

gpu.module @token_store {
  gpu.func @kernel(%dst: memref<64xf32>) workgroup(%src: memref<64xf32, 3>) kernel {
    // expected-error @+2 {{'gpux.bulk_store' op has a token, and the hardware has no tokens}}
    // expected-note @+1 {{run --gpux-tokens-to-groups before --gpux-to-nvvm}}
    %read, %done = gpux.bulk_store async %src, %dst : memref<64xf32, 3> to memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @token_load {
  gpu.func @kernel(%src: memref<64xf32>) workgroup(%dst: memref<64xf32, 3>) kernel {
    // expected-error @+2 {{'gpux.bulk_load' op has a token, and the hardware has no tokens}}
    // expected-note @+1 {{run --gpux-tokens-to-mbarriers before --gpux-to-nvvm}}
    %t = gpux.bulk_load async %src, %dst : memref<64xf32> to memref<64xf32, 3>
    gpu.return
  }
}

// -----

gpu.module @await {
  gpu.func @kernel() kernel {
    // expected-error @+2 {{'async.ready' op is left in device code, and the hardware has no tokens}}
    // expected-note @+1 {{run --gpux-tokens-to-groups before --gpux-to-nvvm}}
    %t = async.ready
    async.await %t
    gpu.return
  }
}

// -----

gpu.module @functions {
  // expected-error @+2 {{'async.func' op is left in device code, and the hardware has no tokens}}
  // expected-note @+1 {{run --gpux-inline-calls first, or write its body where it is called}}
  async.func private @task() {
    async.yield
  }
}

// -----

// A function that copies is device code wherever it stands.
func.func @region(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  // expected-error @+2 {{'async.region' op is left in device code, and the hardware has no tokens}}
  // expected-note @+1 {{run --gpux-tokens-to-groups before --gpux-to-nvvm}}
  %t = async.region {
    async.yield
  }
  return
}

// -----

// Host code may have tokens.
func.func @host() {
  %t = async.region {
    async.yield
  }
  async.await %t
  return
}

// -----

gpu.module @token_argument {
  // expected-error @+2 {{device function takes a token as an argument, and the hardware has no tokens}}
  // expected-note @+1 {{await it in the caller, or run --gpux-inline-calls first}}
  gpu.func @kernel(%t: !async.token) kernel {
    gpu.return
  }
}

// -----

gpu.module @helper {
  // expected-error @+2 {{device function takes a token as an argument, and the hardware has no tokens}}
  // expected-note @+1 {{await it in the caller, or run --gpux-inline-calls first}}
  func.func @wait(%t: !async.token) {
    return
  }
}

// -----

gpu.module @called {
  func.func private @make() -> !async.token
  gpu.func @kernel() kernel {
    %t = func.call @make() : () -> !async.token
    // expected-error @+2 {{'async.await' op is left in device code, and the hardware has no tokens}}
    // expected-note @+1 {{its token comes from a call: run --gpux-inline-calls before --gpux-tokens-to-groups}}
    async.await %t
    gpu.return
  }
}
