// Of multiplications that add to one result the last is awaited, and with it the others. One that another does not add to is on its own.
//
// RUN: async-opt %s --verify-diagnostics --gpux-lint

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!matrix = !nvgpu.warpgroup.descriptor<tensor = !tile>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  gpu.func @kernel(%a: !matrix, %out: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %first, %p = gpux.wgmma async %a, %a, %zero : !matrix, !matrix, !acc
    %second, %q = gpux.wgmma async %a, %a, %first : !matrix, !matrix, !acc
    %third, %r = gpux.wgmma async %a, %a, %second : !matrix, !matrix, !acc
    // expected-note @+2 {{nobody can rely on what it writes}}
    // expected-warning @+1 {{'gpux.wgmma' op has a token that nobody awaits}}
    %other, %s = gpux.wgmma async %a, %a, %zero : !matrix, !matrix, !acc
    async.await %r
    nvgpu.warpgroup.mma.store %third, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
