// What ptxas says where async-opt remarks on multiplications that it serializes, and that it says nothing where a commit is in the branch
// that multiplies, and the wait right after it, and where accumulators that are complete take turns.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" -o %t.mlir 2>%t.err
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not='remark: is' < %t.err
// RUN: async-translate --ptx %t.mlir -o %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin 2>%t.ptxas
// RUN: FileCheck %s --check-prefix=PTXAS --implicit-check-not="'awaited'" --implicit-check-not="'complete'" < %t.ptxas

// REMARK: [[#@LINE+61]]:18: remark: is in flight where the branch ends that it is in
// PTXAS: (C75{{[0-9]+}}) {{.*}} function 'turns'

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!out = memref<64x64xf32>

gpu.module @k {
  gpu.func @awaited(%x: !map, %p: i1, %out: !out, %out1: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %zero : !m, !m, !acc
    %f, %u = scf.if %p -> (!acc, !async.token) {
      %e2, %t2 = gpux.wgmma async %d, %d, %zero : !m, !m, !acc
      scf.yield %e2, %t2 : !acc, !async.token
    } else {
      %ready = async.ready
      scf.yield %zero, %ready : !acc, !async.token
    }
    async.await %t
    nvgpu.warpgroup.mma.store %e, %out : !acc to !out
    async.await %u
    nvgpu.warpgroup.mma.store %f, %out1 : !acc to !out
    gpu.return
  }

  gpu.func @complete(%x: !map, %n: index, %out: !out, %out1: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%y = %zero, %z = %zero) -> (!acc, !acc) {
      %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
      async.await %t
      scf.yield %e, %y : !acc, !acc
    }
    nvgpu.warpgroup.mma.store %r, %out : !acc to !out
    nvgpu.warpgroup.mma.store %s, %out1 : !acc to !out
    gpu.return
  }

  gpu.func @turns(%x: !map, %n: index, %out: !out, %out1: !out, %out2: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z0 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %w0, %t0 = gpux.wgmma async %d, %d, %z0 : !m, !m, !acc
    %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%x1 = %z0, %y = %z0, %z = %w0, %w = %t0) -> (!acc, !acc, !acc, !async.token) {
      %odd = arith.remui %i, %c2 : index
      %even = arith.cmpi eq, %odd, %c0 : index
      %e, %t = scf.if %even -> (!acc, !async.token) {
        %e, %t = gpux.wgmma async %d, %d, %x1 : !m, !m, !acc
        scf.yield %e, %t : !acc, !async.token
      } else {
        scf.yield %x1, %w : !acc, !async.token
      }
      async.await %w
      scf.yield %y, %z, %e, %t : !acc, !acc, !acc, !async.token
    }
    async.await %r#3
    nvgpu.warpgroup.mma.store %r#0, %out : !acc to !out
    nvgpu.warpgroup.mma.store %r#1, %out1 : !acc to !out
    nvgpu.warpgroup.mma.store %r#2, %out2 : !acc to !out
    gpu.return
  }
}
