// What is wrong with one mbarrier makes much else go wrong: it is said first, and the rest below it.
//
// A ring of two slots: thread 0 fills them, thread 1 reads them, and each waits for the other by mbarriers. The parities are those
// of the use of a slot, here counted from a number that the kernels get wrong.
//
// RUN: async-sim %s --kernel=right | FileCheck %s --check-prefix=RIGHT
// RUN: not async-sim %s --kernel=producer_goes_on | FileCheck %s --check-prefix=PRODUCER
// RUN: not async-sim %s --kernel=consumer_goes_on | FileCheck %s --check-prefix=CONSUMER
// RUN: not async-sim %s --kernel=waits_for_an_empty_slot | FileCheck %s --check-prefix=EMPTY
// RUN: not async-sim %s --kernel=does_not_wait | FileCheck %s --check-prefix=WITHOUT
// RUN: not async-sim %s --kernel=completes_on_another | FileCheck %s --check-prefix=OTHER
// RUN: not async-sim %s --kernel=reader_comes_first | FileCheck %s --check-prefix=READER

!src = memref<6x64xf16>
!row = memref<64xf16, strided<[1], offset: ?>>
!ring = memref<2x64xf16, #gpu.address_space<workgroup>>
!slot = memref<64xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!mbarriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
#two_threads = array<i32: 2, 1, 1>

gpu.module @causes {
  func.func private @init(%full: !mbarriers, %empty: !mbarriers) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %leader = gpux.elect
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %leader : !mbarriers
    nvgpu.mbarrier.init %full[%c1], %c1, predicate = %leader : !mbarriers
    nvgpu.mbarrier.init %empty[%c0], %c1, predicate = %leader : !mbarriers
    nvgpu.mbarrier.init %empty[%c1], %c1, predicate = %leader : !mbarriers
    nvvm.fence.mbarrier.init
    gpu.barrier
    return
  }

  func.func private @parity(%number: index) -> i1 {
    %c2 = arith.constant 2 : index
    %use = arith.divui %number, %c2 : index
    %odd = arith.remui %use, %c2 : index
    %parity = arith.index_cast %odd : index to i1
    return %parity : i1
  }

  func.func private @fill(%x: !src, %i: index, %buf: !ring, %full: !mbarriers) {
    %c2 = arith.constant 2 : index
    %bytes = arith.constant 128 : index
    %s = arith.remui %i, %c2 : index
    %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !src to !row
    %to = memref.subview %buf[%s, 0] [1, 64] [1, 1] : !ring to !slot
    nvgpu.mbarrier.arrive.expect_tx %full[%s], %bytes : !mbarriers
    gpux.bulk_load %from, %to, %full[%s] : !row to !slot, !mbarriers
    return
  }

  func.func private @read(%i: index, %buf: !ring, %empty: !mbarriers) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %s = arith.remui %i, %c2 : index
    %v = memref.load %buf[%s, %c0] : !ring
    %t = nvgpu.mbarrier.arrive %empty[%s] : !mbarriers -> !nvgpu.mbarrier.token
    return
  }

  // RIGHT: right: clean
  // RIGHT-NOT: error
  gpu.func @right(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %leader = gpux.elect
    scf.for %i = %c0 to %c6 step %c1 {
      %s = arith.remui %i, %c2 : index
      scf.if %leader {
        %filled = func.call @parity(%i) : (index) -> i1
        %before = arith.xori %filled, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%s], %before, %ticks : !mbarriers
        func.call @fill(%x, %i, %buf, %full) : (!src, index, !ring, !mbarriers) -> ()
      } else {
        %read = func.call @parity(%i) : (index) -> i1
        nvgpu.mbarrier.try_wait.parity %full[%s], %read, %ticks : !mbarriers
        func.call @read(%i, %buf, %empty) : (index, !ring, !mbarriers) -> ()
      }
    }
    gpu.return
  }

  // The parity is that of the number of a pair of tiles, as if each pair began anew.
  // PRODUCER: mbarrier-causes.mlir:[[#@LINE+25]]:{{.*}}: error: nvgpu.mbarrier.try_wait.parity: passes at once: parity 1 is that of the phase before the first of %empty[0], which counts as complete and after which this thread has gone on before; phase 0 is not complete
  // PRODUCER-NEXT: this: thread 0 of block 0, iteration 2 of
  // PRODUCER-NEXT: against: nvgpu.mbarrier.try_wait.parity at {{.*}}, thread 0 of block 0, iteration 0 of
  // PRODUCER-NEXT: help: let the parity flip each time that the thread waits for this mbarrier again
  // PRODUCER-NEXT: also: WAW of gpux.bulk_load
  // PRODUCER-NEXT: phase-overrun of
  // PRODUCER-NEXT: phase-overrun of
  // PRODUCER-NEXT: deadlock of
  // PRODUCER-NOT: error
  gpu.func @producer_goes_on(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %leader = gpux.elect
    scf.for %i = %c0 to %c6 step %c1 {
      %s = arith.remui %i, %c2 : index
      scf.if %leader {
        %filled = func.call @parity(%c0) : (index) -> i1
        %before = arith.xori %filled, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%s], %before, %ticks : !mbarriers
        func.call @fill(%x, %i, %buf, %full) : (!src, index, !ring, !mbarriers) -> ()
      } else {
        %read = func.call @parity(%i) : (index) -> i1
        nvgpu.mbarrier.try_wait.parity %full[%s], %read, %ticks : !mbarriers
        func.call @read(%i, %buf, %empty) : (index, !ring, !mbarriers) -> ()
      }
    }
    gpu.return
  }

  // CONSUMER: error: nvgpu.mbarrier.try_wait.parity: passes at once: parity 0 is that of phase 0 of %full[0], after which this thread has gone on before; phase 1 is not complete
  // CONSUMER-NEXT: this: thread 1 of block 0, iteration 2 of
  // CONSUMER-NEXT: against: nvgpu.mbarrier.try_wait.parity at {{.*}}, thread 1 of block 0, iteration 0 of
  // CONSUMER-NOT: error
  gpu.func @consumer_goes_on(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %leader = gpux.elect
    scf.for %i = %c0 to %c6 step %c1 {
      %s = arith.remui %i, %c2 : index
      scf.if %leader {
        %filled = func.call @parity(%i) : (index) -> i1
        %before = arith.xori %filled, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%s], %before, %ticks : !mbarriers
        func.call @fill(%x, %i, %buf, %full) : (!src, index, !ring, !mbarriers) -> ()
      } else {
        %read = func.call @parity(%c0) : (index) -> i1
        nvgpu.mbarrier.try_wait.parity %full[%s], %read, %ticks : !mbarriers
        func.call @read(%i, %buf, %empty) : (index, !ring, !mbarriers) -> ()
      }
    }
    gpu.return
  }

  // All parities are the other ones: nothing begins.
  // EMPTY: error: nvgpu.mbarrier.try_wait.parity: waits forever for phase 0 of %empty[0]: 1 of its 1 arrivals are missing
  // EMPTY-NEXT: this: thread 0 of block 0
  // EMPTY: help: {{.*}}; if there is nothing to wait for yet, as for a slot that is empty at first, begin with parity 1, which passes at once
  // EMPTY-NEXT: also: deadlock of
  // EMPTY-NOT: error
  gpu.func @waits_for_an_empty_slot(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %leader = gpux.elect
    scf.for %i = %c0 to %c6 step %c1 {
      %s = arith.remui %i, %c2 : index
      scf.if %leader {
        %later = arith.addi %i, %c2 : index
        %filled = func.call @parity(%later) : (index) -> i1
        %before = arith.xori %filled, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%s], %before, %ticks : !mbarriers
        func.call @fill(%x, %i, %buf, %full) : (!src, index, !ring, !mbarriers) -> ()
      } else {
        %read = func.call @parity(%i) : (index) -> i1
        nvgpu.mbarrier.try_wait.parity %full[%s], %read, %ticks : !mbarriers
        func.call @read(%i, %buf, %empty) : (index, !ring, !mbarriers) -> ()
      }
    }
    gpu.return
  }

  // WITHOUT: error: nvgpu.mbarrier.arrive.expect_tx: arrives on phase 0 of %full[0], which has all its arrivals already and may be complete
  // WITHOUT: also:
  // WITHOUT-NOT: error
  gpu.func @does_not_wait(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %leader = gpux.elect
    scf.for %i = %c0 to %c6 step %c1 {
      %s = arith.remui %i, %c2 : index
      scf.if %leader {
        func.call @fill(%x, %i, %buf, %full) : (!src, index, !ring, !mbarriers) -> ()
      } else {
        %read = func.call @parity(%i) : (index) -> i1
        nvgpu.mbarrier.try_wait.parity %full[%s], %read, %ticks : !mbarriers
        func.call @read(%i, %buf, %empty) : (index, !ring, !mbarriers) -> ()
      }
    }
    gpu.return
  }

  // It takes the parity of an empty slot, and comes before the tile is on its way.
  // READER: error: nvgpu.mbarrier.try_wait.parity: passes at once: parity 1 is that of the phase before the first of %full[0], which counts as complete; phase 0 is not complete
  // READER-NEXT: this: thread 0 of block 0
  // READER-NEXT: help: wait for the parity of the phase: 0 for the first
  // READER-NEXT: also: WAR of gpux.bulk_load
  gpu.func @reader_comes_first(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %false = arith.constant false
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %t = gpu.thread_id x
    %is_reader = arith.cmpi eq, %t, %c0 : index
    scf.if %is_reader {
      nvgpu.mbarrier.try_wait.parity %full[%c0], %true, %ticks : !mbarriers
      func.call @read(%c0, %buf, %empty) : (index, !ring, !mbarriers) -> ()
    } else {
      func.call @fill(%x, %c0, %buf, %full) : (!src, index, !ring, !mbarriers) -> ()
      nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !mbarriers
    }
    gpu.return
  }

  // Each slot has an mbarrier that expects its bytes, but all loads complete on the first one.
  // OTHER: error: nvgpu.mbarrier.try_wait.parity: the copies on phase 0 of %full[0] bring 128 bytes more than it expects, and those on phase 0 of %full[1] bring as many fewer
  // OTHER: help: let each load complete on the mbarrier that expects its bytes: one of them seems to name the other mbarrier
  gpu.func @completes_on_another(%x: !src) workgroup(%buf: !ring) kernel attributes {known_block_size = #two_threads} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %bytes = arith.constant 128 : index
    %ticks = arith.constant 1000 : index
    %false = arith.constant false
    %full = nvgpu.mbarrier.create -> !mbarriers
    %empty = nvgpu.mbarrier.create -> !mbarriers
    func.call @init(%full, %empty) : (!mbarriers, !mbarriers) -> ()
    %leader = gpux.elect
    scf.if %leader {
      scf.for %i = %c0 to %c2 step %c1 {
        %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !src to !row
        %to = memref.subview %buf[%i, 0] [1, 64] [1, 1] : !ring to !slot
        nvgpu.mbarrier.arrive.expect_tx %full[%i], %bytes : !mbarriers
        gpux.bulk_load %from, %to, %full[%c0] : !row to !slot, !mbarriers
      }
    }
    scf.for %i = %c0 to %c2 step %c1 {
      nvgpu.mbarrier.try_wait.parity %full[%i], %false, %ticks : !mbarriers
      %v = memref.load %buf[%i, %c0] : !ring
    }
    gpu.return
  }
}
