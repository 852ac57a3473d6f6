// An accumulator in flight is of use to one multiplication, which adds to it in its registers. What would copy them is found, in each
// form: a choice by data, a second addition, also in another iteration, and a use after what was added to has been awaited. Control flow hands
// an accumulator on where it is.
//
// RUN: not async-sim %s --kernel=selected | FileCheck %s --check-prefix=SELECTED
// RUN: not async-sim %s --kernel=added_twice | FileCheck %s --check-prefix=TWICE
// RUN: not async-sim %s --kernel=stored_after | FileCheck %s --check-prefix=AFTER
// RUN: not async-sim %s --kernel=other_iteration --arg 1=2 | FileCheck %s --check-prefix=ITERATION
// RUN: async-sim %s --kernel=other_iteration --arg 1=1 | FileCheck %s --check-prefix=ONCE
// RUN: async-sim %s --kernel=handed_on --arg 1=2 | FileCheck %s --check-prefix=HANDED
// RUN: async-sim %s --kernel=handed_on --arg 1=2 --arg 3=1 | FileCheck %s --check-prefix=HANDED
// RUN: async-sim %s --kernel=complete --arg 1=1 | FileCheck %s --check-prefix=COMPLETE
//
// RUN: sed '/^  .. REFUSED/,/^  .. END/d' %s | async-opt --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --kernel=handed_on --arg 1=2 --arg 3=1 | FileCheck %s --check-prefix=HANDED
// RUN: async-sim %t.counted.mlir --kernel=complete --arg 1=1 | FileCheck %s --check-prefix=COMPLETE
//
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --kernel=handed_on --arg 1=2 --arg 3=1 | FileCheck %s --check-prefix=HANDED
// RUN: async-sim %t.nvvm.mlir --kernel=complete --arg 1=1 | FileCheck %s --check-prefix=COMPLETE

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!out = memref<64x64xf32>

gpu.module @kernels {
  // REFUSED
  // What takes copies is refused when it is counted.
  // SELECTED: error: arith.select: uses an accumulator before the matrix multiplication that writes it has been waited for
  // SELECTED: against: gpux.wgmma
  // SELECTED: also: {{.*}}arith.select
  // SELECTED-NOT: error:
  // SELECTED: not clean
  gpu.func @selected(%x: !map, %out: !out, %q: i1) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    %z2 = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e2, %t2 = gpux.wgmma async %d, %d, %z2 : !m, !m, !acc
    %s = arith.select %q, %e, %e2 : !acc
    %e3, %t3 = gpux.wgmma async %d, %d, %s : !m, !m, !acc
    async.await %t, %t2, %t3
    nvgpu.warpgroup.mma.store %e3, %out : !acc to !out
    gpu.return
  }

  // ITERATION: error: gpux.wgmma: uses an accumulator that another matrix multiplication has added to before it was complete: that takes a copy of its registers
  // ITERATION-NEXT: this: {{.*}}iteration 1 of
  // ITERATION-NEXT: against: gpux.wgmma {{.*}}iteration 0 of
  // ITERATION-NEXT: help: {{(a)?}}wait
  // ITERATION-NOT: error:
  // ITERATION: not clean
  // ONCE: clean
  gpu.func @other_iteration(%x: !map, %n: index, %out: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e0, %t0 = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%s = %e0, %w = %t0) -> (!acc, !async.token) {
      %e, %t = gpux.wgmma async %d, %d, %e0 : !m, !m, !acc
      async.await %w
      scf.yield %e, %t : !acc, !async.token
    }
    async.await %t
    nvgpu.warpgroup.mma.store %s, %out : !acc to !out
    gpu.return
  }

  // END
  // HANDED: clean
  gpu.func @handed_on(%x: !map, %n: index, %out: !out, %q: i1) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    %s, %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %e, %w = %t) -> (!acc, !async.token) {
      %next, %u = gpux.wgmma async %d, %d, %sum : !m, !m, !acc
      async.await %w
      scf.yield %next, %u : !acc, !async.token
    }
    %s2, %t3 = scf.if %q -> (!acc, !async.token) {
      %e2, %t2 = gpux.wgmma async %d, %d, %s : !m, !m, !acc
      scf.yield %e2, %t2 : !acc, !async.token
    } else {
      scf.yield %s, %last : !acc, !async.token
    }
    async.await %t3
    nvgpu.warpgroup.mma.store %s2, %out : !acc to !out
    gpu.return
  }

  // Complete, an accumulator is a value like others.
  // COMPLETE: clean
  gpu.func @complete(%x: !map, %n: index, %out: !out, %q: i1) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    async.await %t
    %e1, %t1 = gpux.wgmma async %d, %d, %e : !m, !m, !acc
    async.await %t1
    %e2, %t2 = gpux.wgmma async %d, %d, %e : !m, !m, !acc
    async.await %t2
    %s = arith.select %q, %e1, %e2 : !acc
    nvgpu.warpgroup.mma.store %s, %out : !acc to !out
    gpu.return
  }

  // REFUSED
  // What stands in a row is refused when it is counted.
  // TWICE: error: gpux.wgmma: uses an accumulator that another matrix multiplication has added to before it was complete
  // TWICE: against: gpux.wgmma
  // TWICE-NOT: error:
  // TWICE: not clean
  gpu.func @added_twice(%x: !map, %out: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    %e1, %t1 = gpux.wgmma async %d, %d, %e : !m, !m, !acc
    %e2, %t2 = gpux.wgmma async %d, %d, %e : !m, !m, !acc
    async.await %t, %t1, %t2
    nvgpu.warpgroup.mma.store %e2, %out : !acc to !out
    gpu.return
  }

  // AFTER: error: nvgpu.warpgroup.mma.store: uses an accumulator that another matrix multiplication has added to before it was complete
  // AFTER: against: gpux.wgmma
  // AFTER-NOT: error:
  // AFTER: not clean
  gpu.func @stored_after(%x: !map, %out: !out) workgroup(%a: !tile) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %l = gpux.tma_load async %x[%c0, %c0], %a : !map, !tile
    async.await %l
    %d = nvgpu.warpgroup.generate.descriptor %a, %x : !tile, !map -> !m
    %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %e, %t = gpux.wgmma async %d, %d, %z : !m, !m, !acc
    %e1, %t1 = gpux.wgmma async %d, %d, %e : !m, !m, !acc
    async.await %t, %t1
    nvgpu.warpgroup.mma.store %e, %out : !acc to !out
    gpu.return
  }
  // END
}
