// What goes wrong with mbarriers, one at a time.
//
// RUN: not async-sim %s --kernel=missing_arrive | FileCheck %s --check-prefix=ARRIVE
// RUN: not async-sim %s --kernel=missing_arrive --json | FileCheck %s --check-prefix=JSON
// RUN: not async-sim %s --kernel=too_many_bytes | FileCheck %s --check-prefix=MANY
// RUN: not async-sim %s --kernel=too_few_bytes | FileCheck %s --check-prefix=FEW
// RUN: not async-sim %s --kernel=bytes_left | FileCheck %s --check-prefix=LEFT
// RUN: not async-sim %s --kernel=two_phases_behind | FileCheck %s --check-prefix=BEHIND
// RUN: not async-sim %s --kernel=armed_twice | FileCheck %s --check-prefix=TWICE
// RUN: not async-sim %s --kernel=arrives_again | FileCheck %s --check-prefix=MISPLACED
// RUN: not async-sim %s --kernel=never_initialized | FileCheck %s --check-prefix=NEVER
// RUN: not async-sim %s --kernel=no_init_fence | FileCheck %s --check-prefix=FENCE
// RUN: not async-sim %s --kernel=after_inval | FileCheck %s --check-prefix=AFTER
// RUN: not async-sim %s --kernel=inval_too_early | FileCheck %s --check-prefix=INVAL
// RUN: not async-sim %s --kernel=initialized_twice | FileCheck %s --check-prefix=AGAIN
// RUN: not async-sim %s --kernel=in_flight_at_end | FileCheck %s --check-prefix=END
// RUN: not async-sim %s --kernel=read_without_wait | FileCheck %s --check-prefix=WAIT
// RUN: not async-sim %s --kernel=armed_too_early | FileCheck %s --check-prefix=EARLY
// RUN: not async-sim %s --kernel=no_such_slot | FileCheck %s --check-prefix=SLOT
// RUN: not async-sim %s --kernel=beyond_count | FileCheck %s --check-prefix=COUNT
// RUN: not async-sim %s --kernel=parity_that_passes_too_early | FileCheck %s --check-prefix=PASSES
// RUN: not async-sim %s --kernel=parity_that_never_passes | FileCheck %s --check-prefix=FLIPPED

!line = memref<64xf16, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

gpu.module @reports {
  func.func private @make(%ring: !ring, %leader: i1, %count: index) {
    %c0 = arith.constant 0 : index
    nvgpu.mbarrier.init %ring[%c0], %count, predicate = %leader : !ring
    nvvm.fence.mbarrier.init
    gpu.barrier
    return
  }

  func.func private @issue(%x: memref<64xf16>, %buf: !line, %ring: !ring, %bytes: index) {
    %c0 = arith.constant 0 : index
    nvgpu.mbarrier.arrive.expect_tx %ring[%c0], %bytes : !ring
    gpux.bulk_load %x, %buf, %ring[%c0] : memref<64xf16> to !line, !ring
    return
  }

  func.func private @wait(%ring: !ring, %parity: i1) {
    %c0 = arith.constant 0 : index
    %ticks = arith.constant 1000 : index
    nvgpu.mbarrier.try_wait.parity %ring[%c0], %parity, %ticks : !ring
    return
  }

  // ARRIVE: error: nvgpu.mbarrier.try_wait.parity: waits forever for phase 0 of %ring[0]: 1 of its 2 arrivals are missing
  // ARRIVE-NEXT: this: thread 0 of block 0
  // ARRIVE-NEXT: against: nvgpu.mbarrier.arrive.expect_tx at
  // ARRIVE: help: let as many threads arrive as the mbarrier was initialized with
  // ARRIVE-NOT: error
  // JSON: "kind": "deadlock"
  gpu.func @missing_arrive(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c2 = arith.constant 2 : index
    %bytes = arith.constant 128 : index
    %false = arith.constant false
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c2) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    gpu.return
  }

  // MANY: error: nvgpu.mbarrier.try_wait.parity: phase 0 of %ring[0] expects 16 bytes more than the copies on it bring
  // MANY-NOT: error
  gpu.func @too_many_bytes(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 144 : index
    %false = arith.constant false
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    gpu.return
  }

  // FEW: error: nvgpu.mbarrier.try_wait.parity: the copies on phase 0 of %ring[0] bring 16 bytes more than it expects
  gpu.func @too_few_bytes(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 112 : index
    %false = arith.constant false
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    gpu.return
  }

  // Nobody waits for them, either.
  // LEFT: error: nvgpu.mbarrier.arrive.expect_tx: phase 0 of %ring[0] expects 128 bytes more than the copies on it bring
  gpu.func @bytes_left() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    nvgpu.mbarrier.arrive.expect_tx %ring[%c0], %bytes, predicate = %leader : !ring
    gpu.return
  }

  // Thread 0 arms the next phase as soon as it has seen the first. Thread 1 may look when that one is complete, too.
  // BEHIND: error: nvgpu.mbarrier.try_wait.parity: waits for phase 0 of %ring[0], and nothing keeps phase 1 from being complete before: the parity then says that it is not
  // BEHIND-NEXT: this: thread 1 of block 0
  // BEHIND-NEXT: against: nvgpu.mbarrier.arrive.expect_tx at
  gpu.func @two_phases_behind(%x: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
      attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %false = arith.constant false
    %true = arith.constant true
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    scf.if %leader {
      func.call @issue(%x, %other, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %true) : (!ring, i1) -> ()
    gpu.return
  }

  // TWICE: error: nvgpu.mbarrier.arrive.expect_tx: arrives on phase 0 of %ring[0], which has all its arrivals already and may be complete
  gpu.func @armed_twice(%x: memref<64xf16>) workgroup(%buf: !line, %other: !line) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %true = arith.constant true
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    func.call @issue(%x, %other, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    func.call @wait(%ring, %true) : (!ring, i1) -> ()
    gpu.return
  }

  // Two arrivals make a phase, one of each thread. Thread 0 may arrive twice before thread 1 does.
  // MISPLACED: error: nvgpu.mbarrier.arrive: arrives on phase 1 of %ring[0], and may count for phase 0: nothing orders it after what completes that one
  // MISPLACED-NEXT: this: thread 1 of block 0
  // MISPLACED-NEXT: against: nvgpu.mbarrier.arrive at {{.*}}, thread 0 of block 0
  gpu.func @arrives_again() kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c2) : (!ring, i1, index) -> ()
    %a = nvgpu.mbarrier.arrive %ring[%c0] : !ring -> !nvgpu.mbarrier.token
    %b = nvgpu.mbarrier.arrive %ring[%c0] : !ring -> !nvgpu.mbarrier.token
    gpu.return
  }

  // NEVER: error: nvgpu.mbarrier.arrive.expect_tx: %ring[1] was not initialized
  gpu.func @never_initialized() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %true = arith.constant true
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    nvgpu.mbarrier.arrive.expect_tx %ring[%c1], %bytes : !ring
    gpu.return
  }

  // FENCE: error: nvgpu.mbarrier.try_wait.parity: %ring[0] was initialized by another thread, and no nvvm.fence.mbarrier.init and gpu.barrier lie between
  // FENCE-NEXT: this: thread 1 of block 0
  // FENCE-NEXT: against: nvgpu.mbarrier.init at {{.*}}, thread 0 of block 0
  gpu.func @no_init_fence() kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    nvgpu.mbarrier.init %ring[%c0], %c1, predicate = %leader : !ring
    gpu.barrier
    func.call @wait(%ring, %true) : (!ring, i1) -> ()
    gpu.return
  }

  // AFTER: error: nvgpu.mbarrier.arrive: %ring[0] was invalidated before
  gpu.func @after_inval() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    %a = nvgpu.mbarrier.get %ring[%c0] : !ring -> i64
    %p = llvm.inttoptr %a : i64 to !llvm.ptr<3>
    nvvm.mbarrier.inval %p : !llvm.ptr<3>
    %token = nvgpu.mbarrier.arrive %ring[%c0] : !ring -> !nvgpu.mbarrier.token
    gpu.return
  }

  // INVAL: error: nvvm.mbarrier.inval: %ring[0] is invalidated, and another thread may still use it
  // INVAL: against: nvgpu.mbarrier.try_wait.parity at {{.*}}, thread 1 of block 0
  gpu.func @inval_too_early(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %false = arith.constant false
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    scf.if %leader {
      %a = nvgpu.mbarrier.get %ring[%c0] : !ring -> i64
      %p = llvm.inttoptr %a : i64 to !llvm.ptr<3>
      nvvm.mbarrier.inval %p : !llvm.ptr<3>
    }
    gpu.return
  }

  // AGAIN: error: nvgpu.mbarrier.init: %ring[0] is an mbarrier already
  gpu.func @initialized_twice() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    gpu.return
  }

  // END: error: gpux.bulk_load: the kernel ends and this may still write workgroup memory, which goes with the block
  gpu.func @in_flight_at_end(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %true = arith.constant true
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    gpu.return
  }

  // A barrier after another thread's wait does; alone it does not.
  // WAIT: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  gpu.func @read_without_wait(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %false = arith.constant false
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    gpu.barrier
    %v = memref.load %buf[%c0] : !line
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    gpu.return
  }

  // Thread 1 may still read the slot.
  // EARLY: error: RAW race: memref.load reads where a bulk copy writes that another thread has issued, and nothing orders the two
  // EARLY-NEXT: this: thread 1 of block 0
  // EARLY-NEXT: against: gpux.bulk_load at {{.*}}, thread 0 of block 0
  gpu.func @armed_too_early(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %false = arith.constant false
    %true = arith.constant true
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %false) : (!ring, i1) -> ()
    %v = memref.load %buf[%c0] : !line
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    }
    func.call @wait(%ring, %true) : (!ring, i1) -> ()
    gpu.return
  }

  // SLOT: error: nvgpu.mbarrier.arrive: index 2 is out of bounds
  gpu.func @no_such_slot() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c2 = arith.constant 2 : index
    %ring = nvgpu.mbarrier.create -> !ring
    %token = nvgpu.mbarrier.arrive %ring[%c2] : !ring -> !nvgpu.mbarrier.token
    gpu.return
  }

  // Whatever it is that lands in time.
  // COUNT: error: nvgpu.mbarrier.arrive.expect_tx: phase 0 of %ring[0] expects 1048576 bytes, of which none may have landed, and an mbarrier counts at most 1048575
  gpu.func @beyond_count(%x: memref<64xf16>) workgroup(%buf: !line) kernel {
    %c1 = arith.constant 1 : index
    %many = arith.constant 1048576 : index
    %leader = gpux.elect
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    func.call @issue(%x, %buf, %ring, %many) : (memref<64xf16>, !line, !ring, index) -> ()
    gpu.return
  }

  // Parity 1 is that of the phase before the first, which counts as complete.
  // PASSES: error: nvgpu.mbarrier.try_wait.parity: passes at once: parity 1 is that of the phase before the first of %ring[0], which counts as complete; phase 0 is not complete
  // PASSES-NEXT: this: thread 0 of block 0
  // PASSES-NEXT: help: wait for the parity of the phase: 0 for the first
  // PASSES-NEXT: also: RAW of memref.load
  // PASSES-NOT: error
  gpu.func @parity_that_passes_too_early(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %bytes = arith.constant 128 : index
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %true, %c1) : (!ring, i1, index) -> ()
    func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
    func.call @wait(%ring, %true) : (!ring, i1) -> ()
    %v = memref.load %buf[%c0] : !line
    gpu.return
  }

  // Thread 1 comes when phase 0 is complete, and waits for the next one, on which nobody arrives.
  // FLIPPED: error: nvgpu.mbarrier.try_wait.parity: waits forever for parity 1 of %ring[0]: phase 0, which is complete and which this thread has not waited for, has parity 0
  // FLIPPED-NEXT: this: thread 1 of block 0
  // FLIPPED: help: wait for the parity of the phase
  gpu.func @parity_that_never_passes(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %true = arith.constant true
    %bytes = arith.constant 128 : index
    %t = gpu.thread_id x
    %leader = arith.cmpi eq, %t, %c0 : index
    %ring = nvgpu.mbarrier.create -> !ring
    func.call @make(%ring, %leader, %c1) : (!ring, i1, index) -> ()
    scf.if %leader {
      func.call @issue(%x, %buf, %ring, %bytes) : (memref<64xf16>, !line, !ring, index) -> ()
      func.call @wait(%ring, %false) : (!ring, i1) -> ()
    }
    gpu.barrier
    scf.if %leader {
    } else {
      func.call @wait(%ring, %true) : (!ring, i1) -> ()
    }
    gpu.return
  }
}
