// A descriptor of a matrix stays in the function that makes it.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm --verify-diagnostics

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @kernel {
  // expected-error @+2 {{device function takes a descriptor of a matrix as an argument, which is not lowered}}
  // expected-note @+1 {{make it with nvgpu.warpgroup.generate.descriptor in the function that multiplies, or run --gpux-inline-calls first}}
  gpu.func @kernel(%n: index, %a: !m) kernel {
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @helper {
  // expected-error @+2 {{device function takes a descriptor of a matrix as an argument}}
  // expected-note @+1 {{make it with nvgpu.warpgroup.generate.descriptor}}
  func.func @helper(%a: !m) {
    return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @call {
  func.func private @elsewhere(!m)
  gpu.func @call() kernel {
    %a = ub.poison : !m
    // expected-error @+2 {{'func.call' op hands a descriptor of a matrix from function to function, which is not lowered}}
    // expected-note @+1 {{make it with nvgpu.warpgroup.generate.descriptor}}
    func.call @elsewhere(%a) : (!m) -> ()
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @unreachable {
  func.func private @elsewhere(!m)
  gpu.func @unreachable() kernel {
    gpu.return
  ^never(%a: !m):
    // expected-error @+2 {{'func.call' op hands a descriptor of a matrix from function to function}}
    // expected-note @+1 {{make it with nvgpu.warpgroup.generate.descriptor}}
    func.call @elsewhere(%a) : (!m) -> ()
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @return {
  func.func @return() -> !m {
    %a = ub.poison : !m
    // expected-error @+2 {{'func.return' op hands a descriptor of a matrix from function to function}}
    // expected-note @+1 {{make it with nvgpu.warpgroup.generate.descriptor}}
    return %a : !m
  }
}

// -----

// Within a function it goes anywhere.
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
gpu.module @blocks {
  gpu.func @blocks(%p: i1) kernel {
    %a = ub.poison : !m
    %b = scf.if %p -> !m {
      scf.yield %a : !m
    } else {
      scf.yield %a : !m
    }
    cf.br ^next(%b : !m)
  ^next(%c: !m):
    gpu.return
  }
}
