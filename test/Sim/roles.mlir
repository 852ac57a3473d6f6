// Roles of warps, under an adversary: warp 2 issues loads, warps 0 and 1 read the tile of a step, and warp 1 alone that of another
// array, which it also writes to. In token form, on mbarriers, and with code of its own for each role, the kernel computes the same.
// One arrival too few is a race, one too many to expect is a deadlock, and a fence that is missing is found.
//
// RUN: async-sim %s --schedule=exhaustive --arg 0=ramp --arg 1=ramp --print | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers -o %t.mbarriers.mlir
// RUN: FileCheck %s --input-file %t.mbarriers.mlir --check-prefix=COUNTS
// RUN: async-sim %t.mbarriers.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %t.mbarriers.mlir --gpux-split-roles --canonicalize --cse -o %t.split.mlir
// RUN: async-sim %t.split.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %t.split.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 1=random --refines=%s | FileCheck %s --check-prefix=CLEAN
//
// RUN: sed 's/%%c64\(_[0-9]*\)*, predicate/%%c32, predicate/' %t.split.mlir | not async-sim - | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/%%c32\(_[0-9]*\)*, predicate/%%c64, predicate/' %t.split.mlir | not async-sim - | FileCheck %s --check-prefix=DEADLOCK
// RUN: sed '/nvvm.fence.proxy/d' %t.split.mlir | not async-sim - | FileCheck %s --check-prefix=UNFENCED

!slots = memref<2x32xf32, #gpu.address_space<workgroup>>
!slot = memref<32xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!rows = memref<9x32xf32>
!row = memref<32xf32, strided<[1], offset: ?>>

// CHECK: kernel: clean
// Rows of 32 i + lane: their sums over 8 rows are 28 * 32 + 8 lane, and those of the other array come twice.
// CHECK: argument 2: 896 904 912
// CHECK: argument 3: 2688 2712 2736
// CLEAN: kernel: clean

// Who arrives: warps 0 and 1 for the tiles of one ring, warp 1 for those of the other.
// COUNTS-DAG: mbarrier.init %{{.*}}, %c64{{.*}}, predicate
// COUNTS-DAG: mbarrier.init %{{.*}}, %c32{{.*}}, predicate

// EARLY: error: nvgpu.mbarrier.arrive: arrives on phase 1 of number 0 {{.*}}, and may count for phase 0
// DEADLOCK: error: nvgpu.mbarrier.try_wait.parity: waits forever for phase 0 of number 0 {{.*}}: 32 of its 64 arrivals are missing
// UNFENCED: error: missing fence: gpux.bulk_load goes through the asynchronous proxy
gpu.module @roles {
  gpu.func @kernel(%x: !rows, %y: !rows, %sums: memref<32xf32>, %more: memref<32xf32>)
      workgroup(%xs: !slots, %ys: !slots) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c31 = arith.constant 31 : index
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    %lane = arith.andi %tid, %c31 : index
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c2 : index
    %is_second = arith.cmpi eq, %warp, %c1 : index
    %x0 = memref.subview %x[%c0, 0] [1, 32] [1, 1] : !rows to !row
    %y0 = memref.subview %y[%c0, 0] [1, 32] [1, 1] : !rows to !row
    %xs0 = memref.subview %xs[%c0, 0] [1, 32] [1, 1] : !slots to !slot
    %ys0 = memref.subview %ys[%c0, 0] [1, 32] [1, 1] : !slots to !slot
    %tx = gpux.bulk_load async %x0, %xs0 {issuer = 2 : i32} : !row to !slot
    %ty = gpux.bulk_load async %y0, %ys0 {issuer = 2 : i32} : !row to !slot
    %sum, %total, %lx, %ly = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero, %t = %zero, %px = %tx, %py = %ty) -> (f32, f32, !async.token, !async.token) {
      %k = arith.andi %i, %c1 : index
      %other = arith.subi %c1, %k : index
      %j = arith.addi %i, %c1 : index
      %xn = memref.subview %x[%j, 0] [1, 32] [1, 1] : !rows to !row
      %yn = memref.subview %y[%j, 0] [1, 32] [1, 1] : !rows to !row
      %xsn = memref.subview %xs[%other, 0] [1, 32] [1, 1] : !slots to !slot
      %ysn = memref.subview %ys[%other, 0] [1, 32] [1, 1] : !slots to !slot
      %nx = gpux.bulk_load async %xn, %xsn {issuer = 2 : i32} : !row to !slot
      %ny = gpux.bulk_load async %yn, %ysn {issuer = 2 : i32} : !row to !slot
      %xsk = memref.subview %xs[%k, 0] [1, 32] [1, 1] : !slots to !slot
      %ysk = memref.subview %ys[%k, 0] [1, 32] [1, 1] : !slots to !slot
      %s1 = scf.if %reads -> (f32) {
        async.await %px
        %v = memref.load %xsk[%lane] : !slot
        %add = arith.addf %s, %v : f32
        scf.yield %add : f32
      } else {
        scf.yield %s : f32
      }
      %t1 = scf.if %is_second -> (f32) {
        async.await %py
        %v = memref.load %ysk[%lane] : !slot
        %twice = arith.addf %v, %v : f32
        memref.store %twice, %ysk[%lane] : !slot
        %w = memref.load %ysk[%lane] : !slot
        %add = arith.addf %t, %w : f32
        scf.yield %add : f32
      } else {
        scf.yield %t : f32
      }
      scf.yield %s1, %t1, %nx, %ny : f32, f32, !async.token, !async.token
    }
    scf.if %reads {
      async.await %lx
      %is_first = arith.cmpi eq, %warp, %c0 : index
      scf.if %is_first {
        memref.store %sum, %sums[%lane] : memref<32xf32>
      }
    }
    scf.if %is_second {
      async.await %ly
      %all = arith.addf %sum, %total : f32
      memref.store %all, %more[%lane] : memref<32xf32>
    }
    gpu.return
  }
}
