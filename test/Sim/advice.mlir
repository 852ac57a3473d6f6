// What to do depends on what is there: a wait for reads alone, a token, a commit that is missing, threads that wait elsewhere.
//
// RUN: not async-sim %s --kernel=waits_for_reads | FileCheck %s --check-prefix=READS
// RUN: not async-sim %s --kernel=other_token --arg 0=8:ramp | FileCheck %s --check-prefix=TOKEN
// RUN: not async-sim %s --kernel=not_committed | FileCheck %s --check-prefix=COMMIT
// RUN: not async-sim %s --kernel=stored_beside | FileCheck %s --check-prefix=BESIDE
// RUN: not async-sim %s --kernel=barrier_in_a_role | FileCheck %s --check-prefix=ROLE
// RUN: not async-sim %s --kernel=never_waits | FileCheck %s --check-prefix=NEVER
// RUN: not async-sim %s --kernel=tile_never_waited_for | FileCheck %s --check-prefix=TILE
// RUN: not async-sim %s --kernel=too_far_ahead | FileCheck %s --check-prefix=AHEAD
// RUN: not async-sim %s --kernel=wrong_modulus | FileCheck %s --check-prefix=MODULUS
// RUN: not async-sim %s --kernel=wrong_modulus_ahead | FileCheck %s --check-prefix=OVER
// RUN: not async-sim %s --kernel=copied_twice | FileCheck %s --check-prefix=TWICE
// RUN: not async-sim %s --kernel=reader_first | FileCheck %s --check-prefix=READER
// RUN: not async-sim %s --kernel=writer_first | FileCheck %s --check-prefix=WRITER
// RUN: not async-sim %s --kernel=copy_after_reader | FileCheck %s --check-prefix=COPIED
// RUN: not async-sim %s --kernel=overwritten | FileCheck %s --check-prefix=EITHER

!line = memref<8xf32, #gpu.address_space<workgroup>>
!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
#one_thread = array<i32: 1, 1, 1>

gpu.module @advice {
  // READS: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // READS: help: wait for the copy before this: the wait there waits until sources are read (`read`), and not for what is written
  gpu.func @waits_for_reads(%y: memref<8xf32>) workgroup(%buf: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<8xf32>
    vector.store %zero, %buf[%c0] : !line, vector<8xf32>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpux.bulk_store %buf, %y : !line to memref<8xf32>
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 0 read
    %x = memref.load %y[%c0] : memref<8xf32>
    gpu.return
  }

  // TOKEN: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // TOKEN: help: await the token of that copy before this: the await there is of other tokens
  gpu.func @other_token(%x: memref<?xf32>) workgroup(%buf: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %first = gpux.copy async %x[%c0], %buf[%c0], 4 : memref<?xf32> to !line
    %second = gpux.copy async %x[%c4], %buf[%c4], 4 : memref<?xf32> to !line
    async.await %second
    %value = memref.load %buf[%c0] : !line
    async.await %first
    gpu.return
  }

  // The write is too early since the wait waits for groups, and the store is in none.
  // COMMIT: error: gpux.bulk_store: no group is committed after this, so that no wait waits for it
  // COMMIT: also: WAR of vector.store
  // COMMIT-NOT: error:
  gpu.func @not_committed(%y: memref<8xf32>) workgroup(%buf: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<8xf32>
    vector.store %zero, %buf[%c0] : !line, vector<8xf32>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpux.bulk_store %buf, %y : !line to memref<8xf32>
    gpux.wait_group <bulk>, 0
    vector.store %zero, %buf[%c0] : !line, vector<8xf32>
    gpu.return
  }

  // BESIDE: error: WAR race: memref.store writes what a copy of another thread reads, and no block barrier lies between
  // BESIDE: help: put a gpu.barrier between this and the copy, if the copy is to read what is written here;
  gpu.func @stored_beside(%y: memref<8xf32>) workgroup(%buf: !line) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %leader = gpux.elect
    memref.store %zero, %buf[%t] : !line
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    scf.if %leader {
      gpux.bulk_store %buf, %y : !line to memref<8xf32>
    }
    gpu.barrier
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 0 read
    gpu.return
  }

  // ROLE: error: gpu.barrier: some threads of the block wait at this barrier, and others for an mbarrier
  // ROLE-NEXT: this: thread 1 of block 0
  // ROLE-NEXT: against: nvgpu.mbarrier.try_wait.parity at {{.*}}, thread 0 of block 0
  gpu.func @barrier_in_a_role() kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ticks = arith.constant 1000 : index
    %false = arith.constant false
    %leader = gpux.elect
    %done = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %done[%c0], %c1, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.try_wait.parity %done[%c0], %false, %ticks : !one
    } else {
      gpu.barrier
      %token = nvgpu.mbarrier.arrive %done[%c0] : !one -> !nvgpu.mbarrier.token
    }
    gpu.return
  }

  // NEVER: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // NEVER: waited: not at all before this
  // NEVER-NEXT: help: wait for the copy before this{{$}}
  gpu.func @never_waits(%x: memref<8xf32>) workgroup(%buf: !line) kernel attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    gpux.copy %x[%c0], %buf[%c0], 4 : memref<8xf32> to !line
    gpux.commit_group <cp_async>
    %value = memref.load %buf[%c0] : !line
    gpu.return
  }

  // TILE: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // TILE: help: wait before this for phase 0 of %one[0], on which the copy completes: nobody waits for that mbarrier
  gpu.func @tile_never_waited_for(%x: memref<8xf32>) workgroup(%buf: !line {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = #one_thread} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 32 : index
    %one = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %one[%c0], %c1 : !one
    nvgpu.mbarrier.arrive.expect_tx %one[%c0], %bytes : !one
    gpux.bulk_load %x, %buf, %one[%c0] : memref<8xf32> to !line, !one
    %value = memref.load %buf[%c0] : !line
    gpu.return
  }

  // The copy goes to the slot that is read, since it is one tile too far ahead. Threads that are first have waited for theirs at
  // the end of the loop, but a barrier would not help those who read.
  // AHEAD: error: WAR race: gpux.copy writes what another thread reads, and no block barrier lies between
  // AHEAD: help: put a gpu.barrier between the two, or give the buffer another slot
  // AHEAD-NEXT: also: RAW of memref.load
  gpu.func @too_far_ahead(%x: memref<5x64xf32>) workgroup(%buf: memref<2x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %far = arith.subi %c63, %t : index
    scf.for %i = %c0 to %c2 step %c1 {
      gpux.copy %x[%i, %t], %buf[%i, %t], 1 : memref<5x64xf32> to memref<2x64xf32, #gpu.address_space<workgroup>>
    }
    gpux.commit_group <cp_async>
    scf.for %i = %c0 to %c3 step %c1 {
      gpux.wait_group <cp_async>, 0
      gpu.barrier
      %slot = arith.remui %i, %c2 : index
      %value = memref.load %buf[%slot, %far] : memref<2x64xf32, #gpu.address_space<workgroup>>
      %next = arith.addi %i, %c2 : index
      gpux.copy %x[%next, %t], %buf[%slot, %t], 1 : memref<5x64xf32> to memref<2x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // Copies go to two of the three slots that are read: the wait is right, and what is read is not there any more.
  // MODULUS: error: {{.*}} race: memref.load reads where a later copy writes already: what an earlier copy brought there has not been read
  // MODULUS: help: let one of the copies go to another slot: compare its index, and what that is taken modulo, with the index here
  gpu.func @wrong_modulus(%x: memref<8x64xf32>) workgroup(%buf: memref<3x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c2 step %c1 {
      gpux.copy %x[%i, %t], %buf[%i, %t], 1 : memref<8x64xf32> to memref<3x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
    }
    scf.for %i = %c0 to %c6 step %c1 {
      gpux.wait_group <cp_async>, 1
      %slot = arith.remui %i, %c3 : index
      %value = memref.load %buf[%slot, %t] : memref<3x64xf32, #gpu.address_space<workgroup>>
      %next = arith.addi %i, %c2 : index
      %to = arith.remui %next, %c2 : index
      gpux.copy %x[%next, %t], %buf[%to, %t], 1 : memref<8x64xf32> to memref<3x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // Here the copy comes while the one before is in flight.
  // OVER: error: RAW race: memref.load reads where a later copy writes already: what an earlier copy brought there has not been read
  // OVER: help: let one of the copies go to another slot: compare its index, and what that is taken modulo, with the index here
  // OVER: also: WAW of gpux.copy
  gpu.func @wrong_modulus_ahead(%x: memref<8x64xf32>) workgroup(%buf: memref<3x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c2 step %c1 {
      gpux.copy %x[%i, %t], %buf[%i, %t], 1 : memref<8x64xf32> to memref<3x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
    }
    scf.for %i = %c0 to %c6 step %c1 {
      %next = arith.addi %i, %c2 : index
      %to = arith.remui %next, %c2 : index
      gpux.copy %x[%next, %t], %buf[%to, %t], 1 : memref<8x64xf32> to memref<3x64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 2
      %slot = arith.remui %i, %c3 : index
      %value = memref.load %buf[%slot, %t] : memref<3x64xf32, #gpu.address_space<workgroup>>
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // TWICE: error: WAW race: gpux.copy writes where another thread writes by the same operation: the addresses of the two overlap
  // TWICE: help: let an index tell the threads apart (thread, row, column), or let one thread alone write here
  gpu.func @copied_twice(%x: memref<64xf32>) workgroup(%buf: memref<32xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %half = arith.remui %t, %c32 : index
    gpux.copy %x[%half], %buf[%half], 1 : memref<64xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // The warp that reads runs first, and what is missing is a barrier between the write and the read.
  // READER: error: WAR race: memref.store writes what another thread has read before, when nothing was there, and no block barrier lies between
  // READER: help: put a gpu.barrier after the write, before the read{{$}}
  gpu.func @reader_first(%x: f32, %out: memref<64xf32>) workgroup(%buf: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %reads = arith.cmpi ult, %t, %c32 : index
    %other = arith.addi %t, %c32 : index
    scf.if %reads {
      %value = memref.load %buf[%other] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%t] : memref<64xf32>
    } else {
      memref.store %x, %buf[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // WRITER: error: RAW race: memref.load reads what another thread wrote, and no block barrier lies between
  // WRITER: help: put a gpu.barrier between the write and the read
  gpu.func @writer_first(%x: f32, %out: memref<64xf32>) workgroup(%buf: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %writes = arith.cmpi ult, %t, %c32 : index
    scf.if %writes {
      memref.store %x, %buf[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    } else {
      %other = arith.subi %t, %c32 : index
      %value = memref.load %buf[%other] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // COPIED: error: WAR race: gpux.copy copies to where another thread has read before, when nothing was there, and nothing orders the two
  // COPIED: help: wait for the copy and put a gpu.barrier after that wait, before the read
  gpu.func @copy_after_reader(%x: memref<64xf32>, %out: memref<64xf32>)
      workgroup(%buf: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %reads = arith.cmpi ult, %t, %c32 : index
    %other = arith.addi %t, %c32 : index
    scf.if %reads {
      %value = memref.load %buf[%other] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%t] : memref<64xf32>
    } else {
      gpux.copy %x[%t], %buf[%t], 1 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 0
    }
    gpu.return
  }

  // Something was there: either may be meant to come first.
  // EITHER: error: WAR race: memref.store writes what another thread reads, and no block barrier lies between
  // EITHER: help: put a gpu.barrier between the two, after the one that is to come first; if that is the read, another slot does, too
  gpu.func @overwritten(%x: f32, %out: memref<64xf32>) workgroup(%buf: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    memref.store %x, %buf[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %reads = arith.cmpi ult, %t, %c32 : index
    %far = arith.subi %c63, %t : index
    scf.if %reads {
      %value = memref.load %buf[%far] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%t] : memref<64xf32>
    } else {
      memref.store %x, %buf[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
