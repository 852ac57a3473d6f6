// Roles in loops, conditions and next to other copies: the kernels compute the same with tokens, and on mbarriers with code of
// their own for each role.
//
// RUN: async-sim %s --arg 0=random --arg 2=0 | FileCheck %s
// RUN: async-sim %s --arg 0=random --arg 2=7 --schedule=exhaustive | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers --gpux-split-roles --canonicalize --cse --gpux-tokens-to-groups -o %t.groups.mlir
// RUN: FileCheck %s --input-file %t.groups.mlir --check-prefix=IR
// RUN: async-opt %t.groups.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 2=0 --refines=%s | FileCheck %s
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 2=1 --refines=%s | FileCheck %s
// RUN: async-sim %t.nvvm.mlir --arg 0=random --arg 2=7 --refines=%s | FileCheck %s
//
// One arrival too few, and a barrier for too few threads, are found.
// RUN: sed 's/arith.constant 65 : index/arith.constant 64 : index/' %t.groups.mlir > %t.fewer.mlir
// RUN: not async-sim %t.fewer.mlir --kernel=ahead --arg 0=random --arg 2=7 | FileCheck %s --check-prefix=FEWER
// RUN: sed 's/arith.constant 96 : i32/arith.constant 64 : i32/' %t.groups.mlir > %t.barrier.mlir
// RUN: not async-sim %t.barrier.mlir --kernel=shared_barrier --arg 0=random --arg 2=7 | FileCheck %s --check-prefix=BARRIER

// CHECK-DAG: counted: clean
// CHECK-DAG: conditional: clean
// CHECK-DAG: shared_barrier: clean
// CHECK-DAG: ahead: clean
// CHECK-DAG: stored: clean

// FEWER: error: nvgpu.mbarrier.try_wait.parity: waits for phase 0 of {{.*}}, and nothing keeps phase 1 from being complete before
// BARRIER: error: nvgpu.mbarrier.arrive.expect_tx: arrives on phase 0 of {{.*}}, which has all its arrivals already
!slots = memref<2x32xf32, #gpu.address_space<workgroup>>
!three = memref<3x32xf32, #gpu.address_space<workgroup>>
!slot = memref<32xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!eight = memref<8x32xf32>
!twenty = memref<20x32xf32>
!row = memref<32xf32, strided<[1], offset: ?>>

gpu.module @roles {
  // Three slots, in a loop whose iterations nobody numbers: each role counts the phases. The issuing warp is one of the consumers.
  // IR-LABEL: gpu.func @counted
  gpu.func @counted(%x: !twenty, %sums: memref<96xf32>, %n: index)
      workgroup(%xs: !three) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c31 = arith.constant 31 : index
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    %lane = arith.andi %tid, %c31 : index
    %c64 = arith.constant 64 : index
    %reads = arith.cmpi ult, %tid, %c64 : index
    %x0 = memref.subview %x[%c0, 0] [1, 32] [1, 1] : !twenty to !row
    %x1 = memref.subview %x[%c1, 0] [1, 32] [1, 1] : !twenty to !row
    %xs0 = memref.subview %xs[%c0, 0] [1, 32] [1, 1] : !three to !slot
    %xs1 = memref.subview %xs[%c1, 0] [1, 32] [1, 1] : !three to !slot
    %t0 = gpux.bulk_load async %x0, %xs0 {issuer = 0 : i32} : !row to !slot
    %t1 = gpux.bulk_load async %x1, %xs1 {issuer = 0 : i32} : !row to !slot
    %r:5 = scf.while (%i = %c0, %k = %c0, %s = %zero, %p = %t0, %q = %t1) : (index, index, f32, !async.token, !async.token) -> (index, index, f32, !async.token, !async.token) {
      %go = arith.cmpi ult, %i, %n : index
      scf.condition(%go) %i, %k, %s, %p, %q : index, index, f32, !async.token, !async.token
    } do {
    ^bb0(%i: index, %k: index, %s: f32, %p: !async.token, %q: !async.token):
      %j = arith.addi %i, %c2 : index
      %kn = arith.addi %k, %c2 : index
      %ko = arith.remui %kn, %c3 : index
      %xn = memref.subview %x[%j, 0] [1, 32] [1, 1] : !twenty to !row
      %xsn = memref.subview %xs[%ko, 0] [1, 32] [1, 1] : !three to !slot
      %nx = gpux.bulk_load async %xn, %xsn {issuer = 0 : i32} : !row to !slot
      %xsk = memref.subview %xs[%k, 0] [1, 32] [1, 1] : !three to !slot
      %s1 = scf.if %reads -> (f32) {
        async.await %p
        %v = memref.load %xsk[%lane] : !slot
        %add = arith.addf %s, %v : f32
        scf.yield %add : f32
      } else {
        scf.yield %s : f32
      }
      %i1 = arith.addi %i, %c1 : index
      %k1 = arith.addi %k, %c1 : index
      %k2 = arith.remui %k1, %c3 : index
      scf.yield %i1, %k2, %s1, %q, %nx : index, index, f32, !async.token, !async.token
    }
    scf.if %reads {
      async.await %r#3, %r#4
      memref.store %r#2, %sums[%tid] : memref<96xf32>
    }
    gpu.return
  }

  // A load that is not issued past the end, in a loop that does not always run; two roles with code of their own.
  // IR-LABEL: gpu.func @conditional
  gpu.func @conditional(%x: !eight, %sums: memref<96xf32>, %n: index)
      workgroup(%xs: !slots) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c31 = arith.constant 31 : index
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    %lane = arith.andi %tid, %c31 : index
    %warp = gpu.subgroup_id : index
    %w0 = arith.cmpi eq, %warp, %c0 : index
    %w1 = arith.cmpi eq, %warp, %c1 : index
    %ready = async.ready
    %some = arith.cmpi ugt, %n, %c0 : index
    scf.if %some {
    %x0 = memref.subview %x[%c0, 0] [1, 32] [1, 1] : !eight to !row
    %xs0 = memref.subview %xs[%c0, 0] [1, 32] [1, 1] : !slots to !slot
    %t0 = gpux.bulk_load async %x0, %xs0 {issuer = 3 : i32} : !row to !slot
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %t0) -> (f32, !async.token) {
      %k = arith.andi %i, %c1 : index
      %o = arith.subi %c1, %k : index
      %j = arith.addi %i, %c1 : index
      %more = arith.cmpi ult, %j, %n : index
      %next = scf.if %more -> (!async.token) {
        %xn = memref.subview %x[%j, 0] [1, 32] [1, 1] : !eight to !row
        %xsn = memref.subview %xs[%o, 0] [1, 32] [1, 1] : !slots to !slot
        %nx = gpux.bulk_load async %xn, %xsn {issuer = 3 : i32} : !row to !slot
        scf.yield %nx : !async.token
      } else {
        scf.yield %ready : !async.token
      }
      %xsk = memref.subview %xs[%k, 0] [1, 32] [1, 1] : !slots to !slot
      %s1 = scf.if %w0 -> (f32) {
        async.await %t
        %v = memref.load %xsk[%lane] : !slot
        %add = arith.addf %s, %v : f32
        scf.yield %add : f32
      } else {
        %s2 = scf.if %w1 -> (f32) {
          async.await %t
          %v = memref.load %xsk[%lane] : !slot
          %add = arith.subf %s, %v : f32
          scf.yield %add : f32
        } else {
          scf.yield %s : f32
        }
        scf.yield %s2 : f32
      }
      scf.yield %s1, %next : f32, !async.token
    }
    scf.if %w0 {
      async.await %r#1
      memref.store %r#0, %sums[%tid] : memref<96xf32>
    }
    scf.if %w1 {
      async.await %r#1
      memref.store %r#0, %sums[%tid] : memref<96xf32>
    }
    }
    gpu.return
  }

  // A barrier that all threads pass in the loop that they share: it goes by number, since each role has its own. One role also
  // copies without the TMA engine, which is counted for it alone.
  // IR-LABEL: gpu.func @shared_barrier
  // IR: nvvm.barrier id = %c0_i32 number_of_threads = %c96_i32
  // IR: gpux.wait_group <cp_async>, 0
  // IR: else
  // IR-NOT: gpux.wait_group
  // IR: nvvm.barrier id = %c0_i32 number_of_threads = %c96_i32
  gpu.func @shared_barrier(%x: !twenty, %sums: memref<96xf32>, %n: index)
      workgroup(%xs: !slots, %own: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    %lane = arith.andi %tid, %c31 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi eq, %warp, %c0 : index
    %ready = async.ready
    scf.if %first {
      memref.store %zero, %own[%lane] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    %r, %last = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %ready) -> (f32, !async.token) {
      %k = arith.andi %i, %c1 : index
      %xn = memref.subview %x[%i, 0] [1, 32] [1, 1] : !twenty to !row
      %xsn = memref.subview %xs[%k, 0] [1, 32] [1, 1] : !slots to !slot
      %nx = gpux.bulk_load async %xn, %xsn {issuer = 1 : i32} : !row to !slot
      %s1, %t1 = scf.if %first -> (f32, !async.token) {
        async.await %t
        %o = memref.load %own[%lane] : memref<32xf32, #gpu.address_space<workgroup>>
        %u = gpux.copy async %x[%i, %lane], %own[%lane], 1 : !twenty to memref<32xf32, #gpu.address_space<workgroup>>
        async.await %nx
        %v = memref.load %xsn[%lane] : !slot
        %a = arith.addf %s, %v : f32
        %b = arith.addf %a, %o : f32
        scf.yield %b, %u : f32, !async.token
      } else {
        scf.yield %s, %t : f32, !async.token
      }
      gpu.barrier
      scf.yield %s1, %t1 : f32, !async.token
    }
    scf.if %first {
      async.await %last
      memref.store %r, %sums[%tid] : memref<96xf32>
    }
    gpu.return
  }

  // The second warp writes next to what is loaded, and awaits nothing: it could be so far ahead that the issuing thread takes one
  // phase for another. So it waits before it arrives, and the issuing thread arrives, too.
  // IR-LABEL: gpu.func @ahead
  // IR: mbarrier.init {{.*}}, %c65, predicate
  gpu.func @ahead(%x: !twenty, %sums: memref<96xf32>, %n: index)
      workgroup(%xs: memref<2x64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    %lane = arith.andi %tid, %c31 : index
    %right = arith.addi %lane, %c32 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi eq, %warp, %c0 : index
    %second = arith.cmpi eq, %warp, %c1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %k = arith.andi %i, %c1 : index
      %xn = memref.subview %x[%i, 0] [1, 32] [1, 1] : !twenty to !row
      %left = memref.subview %xs[%k, 0] [1, 32] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to !slot
      %t = gpux.bulk_load async %xn, %left {issuer = 2 : i32} : !row to !slot
      %s1 = scf.if %first -> (f32) {
        async.await %t
        %v = memref.load %left[%lane] : !slot
        %add = arith.addf %s, %v : f32
        scf.yield %add : f32
      } else {
        scf.yield %s : f32
      }
      scf.if %second {
        memref.store %zero, %xs[%k, %right] : memref<2x64xf32, #gpu.address_space<workgroup>>
      }
      scf.yield %s1 : f32
    }
    scf.if %first {
      memref.store %r, %sums[%tid] : memref<96xf32>
    }
    gpu.return
  }

  // Two warps exchange sums between steps, with a barrier of their own. All come together again for a store of the whole block.
  // IR-LABEL: gpu.func @stored
  // IR: nvvm.barrier id = %c1_i32 number_of_threads = %c64_i32
  // IR: else
  // IR-NOT: nvvm.barrier
  // IR: gpu.barrier
  // IR-NEXT: scf.if %leader
  // IR-NEXT: gpux.bulk_store
  gpu.func @stored(%x: !twenty, %sums: memref<96xf32>, %n: index)
      workgroup(%xs: !slots, %tile: memref<96xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c31 = arith.constant 31 : index
    %c63 = arith.constant 63 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %tid = gpu.thread_id x
    %lane = arith.andi %tid, %c31 : index
    %mirror = arith.subi %c63, %tid : index
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c2 : index
    memref.store %zero, %tile[%tid] : memref<96xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    scf.for %i = %c0 to %n step %c1 {
      %k = arith.andi %i, %c1 : index
      %xn = memref.subview %x[%i, 0] [1, 32] [1, 1] : !twenty to !row
      %slot = memref.subview %xs[%k, 0] [1, 32] [1, 1] : !slots to !slot
      %t = gpux.bulk_load async %xn, %slot {issuer = 2 : i32} : !row to !slot
      scf.if %reads {
        async.await %t
        %v = memref.load %slot[%lane] : !slot
        %old = memref.load %tile[%mirror] : memref<96xf32, #gpu.address_space<workgroup>>
        %new = arith.addf %old, %v : f32
        nvvm.barrier id = %id number_of_threads = %threads
        memref.store %new, %tile[%tid] : memref<96xf32, #gpu.address_space<workgroup>>
        nvvm.barrier id = %id number_of_threads = %threads
      }
    }
    %read, %done = gpux.bulk_store async %tile, %sums : memref<96xf32, #gpu.address_space<workgroup>> to memref<96xf32>
    async.await %done
    gpu.return
  }
}
