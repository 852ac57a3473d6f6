// mbarriers by their addresses, as upstream's --convert-nvgpu-to-nvvm leaves them, and what nvgpu has no operations for.
//
// RUN: async-sim %s --kernel=counted | FileCheck %s --check-prefix=COUNTED
// RUN: async-sim %s --kernel=dropped | FileCheck %s --check-prefix=DROPPED
// RUN: async-sim %s --kernel=polled | FileCheck %s --check-prefix=POLLED
// RUN: async-sim %s --kernel=copied --arg 0=ramp --print | FileCheck %s --check-prefix=COPIED
// RUN: async-sim %s --kernel=copied_beside --schedule=exhaustive | FileCheck %s --check-prefix=BESIDE
// RUN: not async-sim %s --kernel=copied_and_passed | FileCheck %s --check-prefix=PASSED
// RUN: async-sim %s --kernel=copied_and_stored | FileCheck %s --check-prefix=STORED
// RUN: async-sim %s --kernel=copied_and_fenced | FileCheck %s --check-prefix=FENCED
// RUN: not async-sim %s --kernel=one_too_many | FileCheck %s --check-prefix=MANY
// RUN: not async-sim %s --kernel=last_of_phase | FileCheck %s --check-prefix=LAST
// RUN: not async-sim %s --kernel=copied_and_stored_unfenced | FileCheck %s --check-prefix=UNFENCED
// RUN: not async-sim %s --kernel=written_and_copied | FileCheck %s --check-prefix=WRITTEN
// RUN: not async-sim %s --kernel=copied_unwaited | FileCheck %s --check-prefix=UNWAITED
// RUN: not async-sim %s --kernel=copied_again | FileCheck %s --check-prefix=AGAIN
// RUN: async-sim %s --kernel=copied_for_nobody | FileCheck %s --check-prefix=NOBODY
// RUN: not async-sim %s --kernel=overwritten | FileCheck %s --check-prefix=OVER
// RUN: not async-sim %s --kernel=copied_over | FileCheck %s --check-prefix=COPIEDOVER
// RUN: async-sim %s --kernel=used_again | FileCheck %s --check-prefix=USED
// RUN: not async-sim %s --kernel=in_the_middle | FileCheck %s --check-prefix=MIDDLE
// RUN: not async-sim %s --kernel=in_global_memory 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not async-sim %s --kernel=misaligned 2>&1 | FileCheck %s --check-prefix=MISALIGNED
// RUN: not async-sim %s --kernel=relaxed 2>&1 | FileCheck %s --check-prefix=RELAXED

!bars = memref<2xi64, #gpu.address_space<workgroup>>
!line = memref<256xf32, #gpu.address_space<workgroup>>

gpu.module @nvvm {
  func.func private @address(%bars: !bars) -> !llvm.ptr<3> {
    %at = memref.extract_aligned_pointer_as_index %bars : !bars -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    return %p : !llvm.ptr<3>
  }

  // Thread 0 initializes mbarrier 0 for %count arrivals.
  func.func private @make(%bars: !bars, %count: i32) -> !llvm.ptr<3> {
    %p = func.call @address(%bars) : (!bars) -> !llvm.ptr<3>
    %leader = gpux.elect
    nvvm.mbarrier.init %p, %count, predicate = %leader : !llvm.ptr<3>, i32, i1
    nvvm.fence.mbarrier.init
    gpu.barrier
    return %p : !llvm.ptr<3>
  }

  func.func private @wait(%p: !llvm.ptr<3>) {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %ticks = llvm.mlir.constant(1000 : i32) : i32
    nvvm.mbarrier.try_wait.parity %p, %zero, %ticks : !llvm.ptr<3>, i32, i32
    return
  }

  // Each thread copies four numbers, and %p tracks that.
  func.func private @copy(%x: memref<256xf32>, %buf: !line) {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %copy = nvgpu.device_async_copy %x[%i], %buf[%i], 4 : memref<256xf32> to !line
    return
  }

  // Each thread reads a number that the thread 32 further on has copied.
  func.func private @read(%buf: !line, %y: memref<64xf32>) {
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %next = arith.addi %t, %c32 : index
    %other = arith.remui %next, %c64 : index
    %i = arith.muli %other, %c4 : index
    %v = memref.load %buf[%i] : !line
    memref.store %v, %y[%t] : memref<64xf32>
    return
  }

  // Thread 0 arrives for all 32 threads of its warp, without being the last one.
  // COUNTED: counted: clean
  gpu.func @counted() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c33 = llvm.mlir.constant(33 : i32) : i32
    %p = func.call @make(%bars, %c33) : (!bars, i32) -> !llvm.ptr<3>
    %leader = gpux.elect
    scf.if %leader {
      %state = nvvm.mbarrier.arrive.nocomplete %p, %c32 : !llvm.ptr<3>, i32 -> i64
      %last = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    }
    func.call @wait(%p) : (!llvm.ptr<3>) -> ()
    gpu.return
  }

  // Two threads arrive on phase 0, of which one leaves: phase 1 has one arrival.
  // DROPPED: dropped: clean
  gpu.func @dropped() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %p = func.call @make(%bars, %c2) : (!bars, i32) -> !llvm.ptr<3>
    %leader = gpux.elect
    scf.if %leader {
      %0 = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
      func.call @wait(%p) : (!llvm.ptr<3>) -> ()
      %1 = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
      nvvm.mbarrier.try_wait.parity %p, %one, %c2 : !llvm.ptr<3>, i32, i32
    } else {
      %0 = nvvm.mbarrier.arrive_drop %p : !llvm.ptr<3> -> i64
    }
    gpu.return
  }

  // A phase is named by its state, or by its parity.
  // POLLED: polled: clean
  gpu.func @polled() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %true = arith.constant true
    %p = func.call @make(%bars, %c2) : (!bars, i32) -> !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    scf.while : () -> () {
      %done = nvvm.mbarrier.try_wait %p, %state : !llvm.ptr<3>, i64 -> i1
      %waits = arith.xori %done, %true : i1
      scf.condition(%waits)
    } do {
      scf.yield
    }
    %now = nvvm.mbarrier.test.wait %p, %zero : !llvm.ptr<3>, i32 -> i1
    cf.assert %now, "it is complete"
    gpu.return
  }

  // Who waits for the phase knows of the copies of all threads.
  // COPIED: copied: clean
  // COPIED: argument 1: 128 132 136 140 {{.*}} 252 0 4 8
  gpu.func @copied(%x: memref<256xf32>, %y: memref<64xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    func.call @wait(%p) : (!llvm.ptr<3>) -> ()
    func.call @read(%buf, %y) : (!line, memref<64xf32>) -> ()
    gpu.return
  }

  // A wait that passes at once is named where an mbarrier tracks copies, too, and the race below it.
  // PASSED: error: nvvm.mbarrier.try_wait.parity: passes at once: parity 1 is that of the phase before the first of %bars[0]
  // PASSED: also: RAW of memref.load {{.*}} and nvgpu.device_async_copy
  gpu.func @copied_and_passed(%x: memref<256xf32>, %y: memref<64xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %p, %one, %one : !llvm.ptr<3>, i32, i32
    func.call @read(%buf, %y) : (!line, memref<64xf32>) -> ()
    gpu.return
  }

  // The same where the arrivals of the copies are one more each.
  // BESIDE: copied_beside: clean
  gpu.func @copied_beside(%x: memref<256xf32>, %y: memref<64xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p : !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    func.call @wait(%p) : (!llvm.ptr<3>) -> ()
    func.call @read(%buf, %y) : (!line, memref<64xf32>) -> ()
    gpu.return
  }

  // Who issues the store has waited, and fences what the copies of all have written.
  // STORED: copied_and_stored: clean
  gpu.func @copied_and_stored(%x: memref<256xf32>, %y: memref<256xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    %leader = gpux.elect
    scf.if %leader {
      func.call @wait(%p) : (!llvm.ptr<3>) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpux.bulk_store %buf, %y : !line to memref<256xf32>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
    }
    gpu.return
  }

  // Another thread may fence, too, if a barrier comes after that.
  // FENCED: copied_and_fenced: clean
  gpu.func @copied_and_fenced(%x: memref<256xf32>, %y: memref<256xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    %t = gpu.thread_id x
    %fences = arith.cmpi eq, %t, %c1 : index
    scf.if %fences {
      func.call @wait(%p) : (!llvm.ptr<3>) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    }
    gpu.barrier
    %leader = gpux.elect
    scf.if %leader {
      gpux.bulk_store %buf, %y : !line to memref<256xf32>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
    }
    gpu.return
  }

  // MANY: error: nvvm.mbarrier.arrive: makes 3 arrivals on phase 0 of %bars[0], and only 2 of its 2 arrivals are missing
  // MANY: help: arrive as often as the mbarrier was initialized with
  gpu.func @one_too_many() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %p = func.call @make(%bars, %c2) : (!bars, i32) -> !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %p, %c3 : !llvm.ptr<3> -> i64
    gpu.return
  }

  // LAST: error: nvvm.mbarrier.arrive.nocomplete: arrives without completing phase 0 of %bars[0], and is its last arrival
  gpu.func @last_of_phase() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %p = func.call @make(%bars, %c2) : (!bars, i32) -> !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive.nocomplete %p, %c2 : !llvm.ptr<3>, i32 -> i64
    gpu.return
  }

  // UNFENCED: error: missing fence: gpux.bulk_store goes through the asynchronous proxy to what was written through the generic one
  // UNFENCED: against: nvgpu.device_async_copy
  gpu.func @copied_and_stored_unfenced(%x: memref<256xf32>, %y: memref<256xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    %leader = gpux.elect
    scf.if %leader {
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      func.call @wait(%p) : (!llvm.ptr<3>) -> ()
      gpux.bulk_store %buf, %y : !line to memref<256xf32>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
    }
    gpu.return
  }

  // Only copies are known to those who wait.
  // WRITTEN: error: RAW race: memref.load reads what another thread wrote
  // WRITTEN: against: memref.store
  gpu.func @written_and_copied(%x: memref<256xf32>, %y: memref<64xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c4 = arith.constant 4 : index
    %one = arith.constant 1.0 : f32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    memref.store %one, %buf[%i] : !line
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    func.call @wait(%p) : (!llvm.ptr<3>) -> ()
    func.call @read(%buf, %y) : (!line, memref<64xf32>) -> ()
    gpu.return
  }

  // Thread 0 has waited; the thread that has issued a copy has not.
  // UNWAITED: error: RAW race: memref.load
  // UNWAITED: against: nvgpu.device_async_copy
  gpu.func @copied_unwaited(%x: memref<256xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c4 = arith.constant 4 : index
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    %leader = gpux.elect
    scf.if %leader {
      func.call @wait(%p) : (!llvm.ptr<3>) -> ()
    } else {
      %t = gpu.thread_id x
      %i = arith.muli %t, %c4 : index
      %v = memref.load %buf[%i] : !line
    }
    gpu.return
  }

  // The second copy is to where readers may still be.
  // AGAIN: error: WAR race: nvgpu.device_async_copy
  // AGAIN: against: memref.load
  gpu.func @copied_again(%x: memref<256xf32>, %y: memref<64xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    func.call @wait(%p) : (!llvm.ptr<3>) -> ()
    func.call @read(%buf, %y) : (!line, memref<64xf32>) -> ()
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %p, %one, %one : !llvm.ptr<3>, i32, i32
    gpu.return
  }

  // NOBODY: note: nvgpu.device_async_copy: the kernel ends and nobody has waited for this
  gpu.func @copied_for_nobody(%x: memref<256xf32>) workgroup(%bars: !bars, %buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %p = func.call @make(%bars, %c64) : (!bars, i32) -> !llvm.ptr<3>
    func.call @copy(%x, %buf) : (memref<256xf32>, !line) -> ()
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
    gpu.return
  }

  // OVER: error: memref.store: accesses the bytes of the mbarrier at byte 0 of workgroup buffer %bars
  // OVER: against: nvvm.mbarrier.init
  // OVER: help: invalidate it before its memory is used for something else
  gpu.func @overwritten() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = llvm.mlir.constant(1 : i32) : i32
    %x = arith.constant 0 : i64
    %p = func.call @make(%bars, %one) : (!bars, i32) -> !llvm.ptr<3>
    memref.store %x, %bars[%c1] : !bars
    memref.store %x, %bars[%c0] : !bars
    gpu.return
  }

  // Bytes 16 to 31, of which the mbarrier has the last 8.
  // COPIEDOVER: error: nvgpu.device_async_copy: accesses the bytes of the mbarrier at byte 24 of workgroup buffer %buf
  gpu.func @copied_over(%x: memref<256xf32>) workgroup(%buf: !line) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c4 = arith.constant 4 : index
    %one = llvm.mlir.constant(1 : i32) : i32
    %at = memref.extract_aligned_pointer_as_index %buf : !line -> index
    %int = arith.index_cast %at : index to i64
    %start = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    %p = llvm.getelementptr %start[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %p, %one : !llvm.ptr<3>, i32
    %copy = nvgpu.device_async_copy %x[%c4], %buf[%c4], 4 : memref<256xf32> to !line
    gpu.return
  }

  // USED: used_again: clean
  gpu.func @used_again() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = llvm.mlir.constant(1 : i32) : i32
    %x = arith.constant 0 : i64
    %p = func.call @make(%bars, %one) : (!bars, i32) -> !llvm.ptr<3>
    nvvm.mbarrier.inval %p : !llvm.ptr<3>
    memref.store %x, %bars[%c0] : !bars
    gpu.return
  }

  // MIDDLE: error: nvvm.mbarrier.arrive: the mbarrier at byte 16 of workgroup buffer %buf was not initialized
  gpu.func @in_the_middle() workgroup(%buf: !line) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %at = memref.extract_aligned_pointer_as_index %buf : !line -> index
    %int = arith.index_cast %at : index to i64
    %start = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    %p = llvm.getelementptr %start[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %state = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
    gpu.return
  }

  // GLOBAL: error: nvvm.mbarrier.init: an operand is not the address of an mbarrier in workgroup memory
  gpu.func @in_global_memory(%x: memref<2xi64>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %at = memref.extract_aligned_pointer_as_index %x : memref<2xi64> -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr
    nvvm.mbarrier.init %p, %one : !llvm.ptr, i32
    gpu.return
  }

  // MISALIGNED: error: nvvm.mbarrier.init: byte 4 of workgroup buffer %bars is no multiple of 8, which the access needs
  gpu.func @misaligned() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %p = func.call @address(%bars) : (!bars) -> !llvm.ptr<3>
    %q = llvm.getelementptr %p[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
    nvvm.mbarrier.init %q, %one : !llvm.ptr<3>, i32
    gpu.return
  }

  // RELAXED: error: the interpreter knows no relaxed operations of mbarriers: leave out the attribute
  gpu.func @relaxed() workgroup(%bars: !bars) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %p = func.call @address(%bars) : (!bars) -> !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %p {relaxed = true} : !llvm.ptr<3> -> i64
    gpu.return
  }
}
