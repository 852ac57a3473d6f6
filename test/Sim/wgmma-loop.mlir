// A plain loop that multiplies by wgmma, pipelined in each form, with fewer iterations than stages and with more: clean in every schedule,
// and the same product. With one slot fewer, or without a wait, it is not.
//
// RUN: async-opt %s --async-pipeline=short-trips=branch -o %t.branch.mlir 2>/dev/null
// RUN: async-opt %s --async-pipeline=short-trips=guard -o %t.guard.mlir 2>/dev/null
// RUN: async-opt %s --async-pipeline="short-trips=branch epilogue=predicate" -o %t.predicate.mlir 2>/dev/null
// RUN: async-opt %t.branch.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-opt %t.guard.mlir --gpux-tokens-to-mbarriers="war=mbarrier round-rings" --gpux-tokens-to-groups -o %t.mbarrier.mlir
//
// RUN: async-sim %s --arg 0=64x8:random --arg 1=0 --out 2=%t.0.npy | FileCheck %s
// RUN: async-sim %s --arg 0=64x128:random --arg 1=2 --out 2=%t.2.npy | FileCheck %s
// RUN: async-sim %s --arg 0=64x384:random --arg 1=6 --out 2=%t.6.npy | FileCheck %s
//
// RUN: async-sim %t.branch.mlir --arg 0=64x8:random --arg 1=0 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.0.npy %t.out.npy
// RUN: async-sim %t.branch.mlir --arg 0=64x128:random --arg 1=2 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.2.npy %t.out.npy
// RUN: async-sim %t.branch.mlir --schedule=exhaustive --arg 0=64x384:random --arg 1=6 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.6.npy %t.out.npy
//
// RUN: async-sim %t.guard.mlir --arg 0=64x8:random --arg 1=0 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.0.npy %t.out.npy
// RUN: async-sim %t.guard.mlir --arg 0=64x128:random --arg 1=2 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.2.npy %t.out.npy
// RUN: async-sim %t.guard.mlir --schedule=exhaustive --arg 0=64x384:random --arg 1=6 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.6.npy %t.out.npy
//
// RUN: async-sim %t.predicate.mlir --arg 0=64x128:random --arg 1=2 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.2.npy %t.out.npy
// RUN: async-sim %t.predicate.mlir --schedule=exhaustive --arg 0=64x384:random --arg 1=6 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.6.npy %t.out.npy
//
// RUN: async-sim %t.counted.mlir --refines=%t.branch.mlir --arg 0=64x384:random --arg 1=6 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.6.npy %t.out.npy
// RUN: async-sim %t.mbarrier.mlir --arg 0=64x8:random --arg 1=0 | FileCheck %s
// RUN: async-sim %t.mbarrier.mlir --schedule=exhaustive --arg 0=64x384:random --arg 1=6 --out 2=%t.out.npy | FileCheck %s
// RUN: cmp %t.6.npy %t.out.npy
//
// A count more, no wait, no block barrier, a slot fewer.
// RUN: sed '/wait_group <wgmma>, 1/s/1$/2/' %t.counted.mlir | not async-sim - --arg 0=64x384:random --arg 1=6 | FileCheck %s --check-prefix=EARLY
// RUN: sed '/wait_group <wgmma>, 1/d' %t.counted.mlir | not async-sim - --arg 0=64x384:random --arg 1=6 | FileCheck %s --check-prefix=EARLY
// RUN: awk '/scf.for/ { loop = 1 } !(loop && last ~ /gpux.wgmma/ && /async.await/ && !gone++); { last = $0 }' %t.branch.mlir > %t.no-wait.mlir
// RUN: not async-sim %t.no-wait.mlir --arg 0=64x384:random --arg 1=6 | FileCheck %s --check-prefix=EARLY
// RUN: awk '/scf.for/ { loop = 1 } !(loop && /gpu.barrier/)' %t.counted.mlir > %t.no-barrier.mlir
// RUN: not async-sim %t.no-barrier.mlir --arg 0=64x384:random --arg 1=6 | FileCheck %s --check-prefix=NO-BARRIER
// RUN: sed 's/c3_i32 = arith.constant 3/c3_i32 = arith.constant 2/' %t.branch.mlir | not async-sim - --arg 0=64x384:random --arg 1=6 | FileCheck %s --check-prefix=FEWER

// CHECK-NOT: error
// CHECK: product: clean
// EARLY: error: WAR race: gpux.tma_load writes what a matrix multiplication may still read
// NO-BARRIER: error: WAR race
// FEWER: error: {{WAR|RAW}} race

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!rows = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @loop {
  gpu.func @product(%map: !map, %n: index, %out: memref<2x64x64xf32>) workgroup(%as: !tile) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!acc) {
      %k = arith.muli %i, %c64 : index
      %t = gpux.tma_load async %map[%c0, %k], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      %next, %p = gpux.wgmma async %a, %a, %sum {transpose_b} : !matrix, !matrix, !acc
      async.await %p
      scf.yield %next : !acc
    } {async.num_stages = 3}
    %thread = gpu.thread_id x
    %warpgroup = arith.divui %thread, %c128 : index
    %own = memref.subview %out[%warpgroup, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf32> to memref<64x64xf32, strided<[64, 1], offset: ?>>
    nvgpu.warpgroup.mma.store %all, %own : !acc to memref<64x64xf32, strided<[64, 1], offset: ?>>
    gpu.return
  }
}
