// Of multiplications that add to one result the last is awaited, which is to await all: the loop is pipelined, and its two multiplications
// are one group.
//
// RUN: async-opt %s --async-pipeline="chip=sm_90a short-trips=branch" --gpux-lint --verify-diagnostics --gpux-tokens-to-mbarriers --gpux-tokens-to-groups | FileCheck %s

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = !tile>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// CHECK-LABEL: gpu.func @chain
// CHECK:         scf.for
// CHECK:           gpux.wgmma
// CHECK-NEXT:      gpux.wgmma
// CHECK-NEXT:      gpux.commit_group <wgmma>
// CHECK-NEXT:      gpux.wait_group <wgmma>, 1
// CHECK-NOT:       gpux.wgmma
// CHECK:           scf.yield
gpu.module @m {
  gpu.func @chain(%x: !map, %y: !map, %n: index, %out: memref<64x64xf32>) workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 2 transfers in stage 0, the rest in stages 2 and 3}}
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (!acc) {
      %k = arith.muli %i, %c64 : index
      %ta = gpux.tma_load async %x[%c0, %k], %a : !map, !tile
      %tb = gpux.tma_load async %y[%c0, %k], %b : !map, !tile
      async.await %ta, %tb
      %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !matrix
      %db = nvgpu.warpgroup.generate.descriptor %b, %y : !tile, !map -> !matrix
      %first, %p = gpux.wgmma async %da, %db, %so_far {transpose_b} : !matrix, !matrix, !acc
      %both, %q = gpux.wgmma async %db, %da, %first {transpose_b} : !matrix, !matrix, !acc
      async.await %q
      scf.yield %both : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<64x64xf32>
    gpu.return
  }

  // What is awaited by joins is awaited, also where others join these.
  // CHECK-LABEL: gpu.func @joined
  // CHECK:         scf.for
  // CHECK:           gpux.commit_group <wgmma>
  // CHECK-NEXT:      gpux.wait_group <wgmma>, 1
  // CHECK:           scf.yield
  gpu.func @joined(%x: !map, %y: !map, %n: index, %out: memref<64x64xf32>) workgroup(%a: !tile, %b: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{pipelined: 2 transfers in stage 0, the rest in stages 2 and 3}}
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (!acc) {
      %k = arith.muli %i, %c64 : index
      %ta = gpux.tma_load async %x[%c0, %k], %a : !map, !tile
      %tb = gpux.tma_load async %y[%c0, %k], %b : !map, !tile
      async.await %ta, %tb
      %da = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !matrix
      %db = nvgpu.warpgroup.generate.descriptor %b, %y : !tile, !map -> !matrix
      %first, %p = gpux.wgmma async %da, %db, %so_far {transpose_b} : !matrix, !matrix, !acc
      %both, %q = gpux.wgmma async %db, %da, %first {transpose_b} : !matrix, !matrix, !acc
      %all = async.join %p, %q
      %again = async.join %all, %q
      async.await %again
      async.await %all
      scf.yield %both : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
