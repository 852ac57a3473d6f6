// Warp 0 copies, and its mbarrier tracks the copies; warp 1 reads, and says on another mbarrier when it has. An arrival of copies
// orders nothing else that their thread did in memory, but comes after the thread's waits: so a phase of %empty is complete only
// after all have passed the wait for the one before.
//
// RUN: async-sim %s --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=RING
// RUN: sed 's/%%copy = .*/memref.store %%zero, %%buf[%%lane] : !line/' %s > %t.store.mlir
// RUN: not async-sim %t.store.mlir | FileCheck %s --check-prefix=STORE
// RUN: sed '/EMPTY/d' %s > %t.early.mlir
// RUN: not async-sim %t.early.mlir | FileCheck %s --check-prefix=EARLY
// RUN: sed '/FILLED/d' %s > %t.filled.mlir
// RUN: not async-sim %t.filled.mlir | FileCheck %s --check-prefix=NOBODY
// RUN: sed -e '/%%read = /d' -e 's/%%v = memref.load/%%read = nvgpu.mbarrier.arrive %%empty[%%c0] : !empty -> !nvgpu.mbarrier.token\n%%v = memref.load/' %s > %t.read.mlir
// RUN: not async-sim %t.read.mlir | FileCheck %s --check-prefix=READ
// RUN: sed 's/nvvm.cp.async.mbarrier.arrive %%p {noinc = true} : !llvm.ptr<3>/%%state = nvvm.mbarrier.arrive %%p : !llvm.ptr<3> -> i64/' %s > %t.plain.mlir
// RUN: not async-sim %t.plain.mlir | FileCheck %s --check-prefix=PLAIN

#shared = #gpu.address_space<workgroup>
!line = memref<32xf32, #shared>
!bar = memref<1xi64, #shared>
!empty = !nvgpu.mbarrier.group<memorySpace = #shared, num_barriers = 1>

gpu.module @copying {
  // RING: ring: clean
  // RING: argument 1: 99 102 105

  // STORE: error: RAW race: memref.load reads what another thread wrote
  // STORE: help: put a gpu.barrier (where only some warps come, one with a number) between the write and the read

  // Without a wait for %full, phases go wrong as well; that nobody waits is the cause.
  // NOBODY: error: RAW race: memref.load reads where a copy of another thread writes already
  // NOBODY: help: wait before this for phase 0 of %full[0], on which the copy completes: nobody waits for that mbarrier
  // NOBODY-NEXT: also: phase-overrun

  // READ: error: WAR race: nvgpu.device_async_copy writes what another thread reads, and nothing orders the two
  // READ: help: let whoever issues it know that this was read: by a gpu.barrier (where only some warps come, one with a number), or an mbarrier on which readers arrive after they have read

  // PLAIN: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // PLAIN: waited: last by nvvm.mbarrier.try_wait.parity
  // PLAIN-NEXT: it is for arrivals, and no copy completes on its phase
  // PLAIN-NEXT: help: wait for the copy's group before its thread arrives, or let that arrive by nvvm.cp.async.mbarrier.arrive

  // EARLY: error: nvvm.cp.async.mbarrier.arrive: arrives on phase 0 of %full[0], which has all its arrivals already
  // EARLY: against: nvvm.cp.async.mbarrier.arrive
  gpu.func @ring(%x: memref<3x32xf32>, %y: memref<32xf32>) workgroup(%buf: !line, %full: !bar) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %all = arith.constant 32 : i32
    %one = arith.constant 1 : i32
    %ticks = arith.constant 1000 : i32
    %index_ticks = arith.constant 1000 : index
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %lane = arith.remui %t, %c32 : index
    %leader = gpux.elect
    %empty = nvgpu.mbarrier.create -> !empty
    nvgpu.mbarrier.init %empty[%c0], %c32, predicate = %leader : !empty
    %at = memref.extract_aligned_pointer_as_index %full : !bar -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    nvvm.mbarrier.init %p, %all, predicate = %leader : !llvm.ptr<3>, i32, i1
    nvvm.fence.mbarrier.init
    gpu.barrier
    %copies = arith.cmpi ult, %t, %c32 : index
    scf.if %copies {
      scf.for %i = %c0 to %c3 step %c1 {
        %bits = arith.index_cast %i : index to i64
        %odd = arith.trunci %bits : i64 to i1
        %parity = arith.xori %odd, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%c0], %parity, %index_ticks : !empty // EMPTY
        %copy = nvgpu.device_async_copy %x[%i, %lane], %buf[%lane], 1 : memref<3x32xf32> to !line
        nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
      }
      nvvm.cp.async.wait.group 0
    } else {
      %next = arith.addi %lane, %c1 : index
      %far = arith.andi %next, %c31 : index
      %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> f32 {
        %bits = arith.index_cast %i : index to i32
        %parity = arith.andi %bits, %one : i32
        nvvm.mbarrier.try_wait.parity %p, %parity, %ticks : !llvm.ptr<3>, i32, i32 // FILLED
        %v = memref.load %buf[%far] : !line
        %read = nvgpu.mbarrier.arrive %empty[%c0] : !empty -> !nvgpu.mbarrier.token
        %more = arith.addf %sum, %v : f32
        scf.yield %more : f32
      }
      memref.store %sum, %y[%lane] : memref<32xf32>
    }
    gpu.return
  }
}
