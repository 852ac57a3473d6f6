// Groups of multiplications: what a wait completes, and what happens to accumulators and operands before it. Mutants are made by
// sed of the marked lines.
//
// RUN: async-sim %s --kernel=exact | FileCheck %s --check-prefix=EXACT
// RUN: sed '/FIRST/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-WAIT
// RUN: sed '/FIRST/s/aligned 1/aligned 2/' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=TOO-LARGE
// RUN: sed '/LAST/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-LAST
// RUN: sed '/COMMIT/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-COMMIT
// RUN: sed '/SECOND/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-SECOND
// RUN: sed '/PROXY/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-PROXY
// RUN: sed '/READY/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-BARRIER
// RUN: sed '/ORDER/d' %s | not async-sim - --kernel=exact | FileCheck %s --check-prefix=NO-FENCE
// RUN: not async-sim %s --kernel=overwritten --schedule=exhaustive | FileCheck %s --check-prefix=OVERWRITTEN
// RUN: async-sim %s --kernel=other_group | FileCheck %s --check-prefix=OTHER
// RUN: sed '/KNOWN/d' %s | not async-sim - --kernel=other_group | FileCheck %s --check-prefix=NO-KNOWN
// RUN: sed '/DONE/d' %s | not async-sim - --kernel=other_group | FileCheck %s --check-prefix=NO-DONE
// RUN: not async-sim %s --kernel=one_warp_absent | FileCheck %s --check-prefix=ABSENT
// RUN: not async-sim %s --kernel=written_after_fence | FileCheck %s --check-prefix=WRITTEN
// RUN: async-sim %s --kernel=handed_on | FileCheck %s --check-prefix=HANDED
// RUN: not async-sim %s --kernel=not_drained | FileCheck %s --check-prefix=DRAIN

#shared = #gpu.address_space<workgroup>
!m = memref<2x8x8xf16, #shared>
!a = memref<2x64x8xf16, #shared>
!d = !llvm.struct<(f32, f32, f32, f32)>

gpu.module @wgmma {
  func.func private @a(%a: !a) -> i64 {
    %c4 = arith.constant 4 : i64
    %rest = arith.constant 0x0000000800400000 : i64
    %p = memref.extract_aligned_pointer_as_index %a : !a -> index
    %i = arith.index_cast %p : index to i64
    %start = arith.shrui %i, %c4 : i64
    %d = arith.ori %start, %rest : i64
    return %d : i64
  }

  func.func private @b(%b: !m) -> i64 {
    %c4 = arith.constant 4 : i64
    %rest = arith.constant 0x0000000800080000 : i64
    %p = memref.extract_aligned_pointer_as_index %b : !m -> index
    %i = arith.index_cast %p : index to i64
    %start = arith.shrui %i, %c4 : i64
    %d = arith.ori %start, %rest : i64
    return %d : i64
  }

  // Each of 128 threads fills its part, 8 numbers of A and one of B.
  func.func private @fill_a(%a: !a) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %half = arith.divui %t, %c64 : index
    %row = arith.remui %t, %c64 : index
    %v = arith.constant dense<1.0> : vector<8xf16>
    vector.store %v, %a[%half, %row, %c0] : !a, vector<8xf16>
    return
  }

  func.func private @fill_b(%b: !m, %v: f16) {
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %i = arith.remui %t, %c128 : index
    %half = arith.divui %i, %c64 : index
    %rest = arith.remui %i, %c64 : index
    %row = arith.divui %rest, %c8 : index
    %k = arith.remui %rest, %c8 : index
    memref.store %v, %b[%half, %row, %k] : !m
    return
  }

  // Two groups are in flight; the first wait completes the first one, whose operand changes then. The second accumulator adds to
  // what a third multiplication computes, in the same group.
  // EXACT: exact: clean

  // NO-WAIT: error: memref.store: uses an accumulator before the matrix multiplication that writes it has been waited for
  // NO-WAIT: against: nvvm.wgmma.mma_async
  // NO-WAIT: also: WAR of memref.store at {{.*}} and nvvm.wgmma.mma_async

  // TOO-LARGE: error: memref.store: uses an accumulator before the matrix multiplication that writes it has been waited for
  // TOO-LARGE: help: commit a group after the multiplication and wait for it before this, or let the wait there leave fewer groups in flight
  // TOO-LARGE: also: WAR of memref.store at {{.*}} and nvvm.wgmma.mma_async

  // NO-LAST: error: memref.store: uses an accumulator before
  // NO-LAST: error: nvvm.wgmma.mma_async: the kernel ends and nobody has waited for this
  // NO-LAST: help: wait for its group before the kernel ends: it may still read workgroup memory

  // Without the first commit, all three multiplications are in one group, which the first wait leaves in flight.
  // NO-COMMIT: error: memref.store: uses an accumulator before
  // NO-COMMIT: also: WAR of memref.store at {{.*}} and nvvm.wgmma.mma_async

  // NO-SECOND: error: nvvm.wgmma.mma_async: no group is committed after this, so that no wait waits for it
  // NO-SECOND: help: commit its group before the wait

  // NO-PROXY: error: missing fence: nvvm.wgmma.mma_async goes through the asynchronous proxy to what was written through the generic one
  // NO-PROXY: against: vector.store

  // NO-BARRIER: error: RAW race: nvvm.wgmma.mma_async reads what another thread wrote
  // NO-BARRIER-NEXT: this: thread 1 of block 0
  // NO-BARRIER-NEXT: against: vector.store at {{.*}}, thread 0 of block 0

  // NO-FENCE: error: nvvm.wgmma.mma_async: no wgmma.fence comes before the first matrix multiplication of the warpgroup
  // NO-FENCE: help: put nvvm.wgmma.fence.aligned after the accumulator is written, before this
  // NO-FENCE-NOT: error
  gpu.func @exact(%out: memref<128x2xf32>) workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}, %c: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f16
    %two = arith.constant 2.0 : f16
    %t = gpu.thread_id x
    func.call @fill_a(%a) : (!a) -> ()
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    func.call @fill_b(%c, %two) : (!m, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} // PROXY
    gpu.barrier // READY
    %da = func.call @a(%a) : (!a) -> i64
    %db = func.call @b(%b) : (!m) -> i64
    %dc = func.call @b(%c) : (!m) -> i64
    %zero = llvm.mlir.zero : !d
    nvvm.wgmma.fence.aligned // ORDER
    %0 = nvvm.wgmma.mma_async %da, %db, %zero, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
    nvvm.wgmma.commit.group.sync.aligned // COMMIT
    %1 = nvvm.wgmma.mma_async %da, %dc, %zero, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
    %2 = nvvm.wgmma.mma_async %da, %dc, %1, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
    nvvm.wgmma.commit.group.sync.aligned // SECOND
    nvvm.wgmma.wait.group.sync.aligned 1 // FIRST
    %first = llvm.extractvalue %0[3] : !d
    memref.store %first, %out[%t, %c0] : memref<128x2xf32>
    func.call @fill_b(%b, %two) : (!m, f16) -> ()
    nvvm.wgmma.wait.group.sync.aligned 0 // LAST
    %last = llvm.extractvalue %2[0] : !d
    memref.store %last, %out[%t, %c1] : memref<128x2xf32>
    gpu.return
  }

  // OVERWRITTEN: error: WAR race: memref.store writes what a matrix multiplication may still read
  // OVERWRITTEN-NEXT: this: thread 0 of block 0
  // OVERWRITTEN-NEXT: against: nvvm.wgmma.mma_async
  // OVERWRITTEN: overwritten: not clean (1 run
  gpu.func @overwritten(%out: memref<128xf32>) workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1.0 : f16
    func.call @fill_a(%a) : (!a) -> ()
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %da = func.call @a(%a) : (!a) -> i64
    %db = func.call @b(%b) : (!m) -> i64
    %any = llvm.mlir.undef : !d
    nvvm.wgmma.fence.aligned
    %0 = nvvm.wgmma.mma_async %da, %db, %any, <m = 64, n = 8, k = 16>, D [<f32>, <zero>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
    nvvm.wgmma.commit.group.sync.aligned
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }

  // The second warpgroup fills B again once it knows that the first one has waited.
  // OTHER: other_group: clean
  // NO-KNOWN: error: WAR race: memref.store writes what a matrix multiplication may still read, and nothing orders the two
  // NO-KNOWN-NEXT: this: thread 128 of block 0
  // NO-KNOWN-NEXT: against: nvvm.wgmma.mma_async at {{.*}}, thread 0 of block 0
  // NO-DONE: error: WAR race: memref.store writes what a matrix multiplication has read, and this thread has not seen that it is done
  // NO-DONE-NEXT: this: thread 128 of block 0
  // NO-DONE: help: let this thread know that the multiplication's group was waited for, by a gpu.barrier after the wait
  gpu.func @other_group(%out: memref<128xf32>) workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c128 = arith.constant 128 : index
    %one = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %multiplies = arith.cmpi ult, %t, %c128 : index
    scf.if %multiplies {
      func.call @fill_a(%a) : (!a) -> ()
      func.call @fill_b(%b, %one) : (!m, f16) -> ()
    }
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    scf.if %multiplies {
      %da = func.call @a(%a) : (!a) -> i64
      %db = func.call @b(%b) : (!m) -> i64
      %any = llvm.mlir.undef : !d
      nvvm.wgmma.fence.aligned
      %0 = nvvm.wgmma.mma_async %da, %db, %any, <m = 64, n = 8, k = 16>, D [<f32>, <zero>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0 // DONE
    }
    gpu.barrier // KNOWN
    scf.if %multiplies {
      nvvm.wgmma.wait.group.sync.aligned 0
    } else {
      // Here they only take the interpreter's time.
      nvvm.wgmma.fence.aligned
      nvvm.wgmma.fence.aligned
      func.call @fill_b(%b, %one) : (!m, f16) -> ()
    }
    gpu.return
  }

  // ABSENT: error: nvvm.wgmma.fence.aligned: this is an operation of a whole warpgroup, and not all of its 128 threads come to it
  // ABSENT-NEXT: this: thread 0 of block 0
  // ABSENT-NEXT: against: gpu.barrier at {{.*}}, thread 96 of block 0
  // ABSENT-NEXT: help: let all four warps of the warpgroup reach it: take it out of the condition
  // ABSENT-NOT: error
  gpu.func @one_warp_absent() workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c96 = arith.constant 96 : index
    %one = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    func.call @fill_a(%a) : (!a) -> ()
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %here = arith.cmpi ult, %t, %c96 : index
    scf.if %here {
      %da = func.call @a(%a) : (!a) -> i64
      %db = func.call @b(%b) : (!m) -> i64
      %any = llvm.mlir.undef : !d
      nvvm.wgmma.fence.aligned
      %0 = nvvm.wgmma.mma_async %da, %db, %any, <m = 64, n = 8, k = 16>, D [<f32>, <zero>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
    }
    gpu.barrier
    gpu.return
  }

  // One of its numbers is computed too late.
  // WRITTEN: error: nvvm.wgmma.mma_async: adds to an accumulator that was written after the last wgmma.fence
  // WRITTEN-NOT: error
  gpu.func @written_after_fence() workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1.0 : f16
    func.call @fill_a(%a) : (!a) -> ()
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %da = func.call @a(%a) : (!a) -> i64
    %db = func.call @b(%b) : (!m) -> i64
    %zero = llvm.mlir.zero : !d
    nvvm.wgmma.fence.aligned
    %late = arith.extf %one : f16 to f32
    %from = llvm.insertvalue %late, %zero[2] : !d
    %0 = nvvm.wgmma.mma_async %da, %db, %from, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }

  // Accumulators that are cast, put into structs and carried around a loop stay in their registers, also in flight; each has a group of
  // its own.
  // HANDED: handed_on: clean
  gpu.func @handed_on(%out: memref<128x2xf32>) workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    func.call @fill_a(%a) : (!a) -> ()
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %da = func.call @a(%a) : (!a) -> i64
    %db = func.call @b(%b) : (!m) -> i64
    %zero = arith.constant dense<0.0> : vector<8xf32>
    nvvm.wgmma.fence.aligned
    %start = builtin.unrealized_conversion_cast %zero : vector<8xf32> to !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
    %all = scf.for %i = %c0 to %c4 step %c1 iter_args(%both = %start) -> !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)> {
      %0 = llvm.extractvalue %both[0] : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
      %1 = llvm.extractvalue %both[1] : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
      %2 = nvvm.wgmma.mma_async %da, %db, %0, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
      nvvm.wgmma.commit.group.sync.aligned
      %3 = nvvm.wgmma.mma_async %da, %db, %1, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
      nvvm.wgmma.commit.group.sync.aligned
      %4 = llvm.insertvalue %2, %both[0] : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
      %5 = llvm.insertvalue %3, %4[1] : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
      scf.yield %5 : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
    }
    nvvm.wgmma.wait.group.sync.aligned 1
    %first = llvm.extractvalue %all[0, 3] : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
    memref.store %first, %out[%t, %c0] : memref<128x2xf32>
    nvvm.wgmma.wait.group.sync.aligned 0
    %second = llvm.extractvalue %all[1, 0] : !llvm.struct<(struct<(f32, f32, f32, f32)>, struct<(f32, f32, f32, f32)>)>
    memref.store %second, %out[%t, %c1] : memref<128x2xf32>
    gpu.return
  }

  // DRAIN: error: nvvm.wgmma.mma_async: the kernel ends and nobody has waited for this
  gpu.func @not_drained() workgroup(%a: !a {llvm.align = 16 : i64}, %b: !m {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1.0 : f16
    func.call @fill_a(%a) : (!a) -> ()
    func.call @fill_b(%b, %one) : (!m, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %da = func.call @a(%a) : (!a) -> i64
    %db = func.call @b(%b) : (!m) -> i64
    %any = llvm.mlir.undef : !d
    nvvm.wgmma.fence.aligned
    %0 = nvvm.wgmma.mma_async %da, %db, %any, <m = 64, n = 8, k = 16>, D [<f32>, <zero>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 1
    gpu.return
  }
}
