// A wait whose count is too large, where the warp that copies has come to a later wait by the time that another one reads: the
// wait before the barrier is what is wrong, and not the barrier.
//
// RUN: not async-sim %s --kernel=one_warp_copies | FileCheck %s --check-prefix=WARP
// RUN: not async-sim %s --kernel=one_thread_copies | FileCheck %s --check-prefix=THREAD
// RUN: not async-sim %s --kernel=copies_alone_wait | FileCheck %s --check-prefix=ALONE
// RUN: not async-sim %s --kernel=barrier_missing | FileCheck %s --check-prefix=BARRIER

!slots = memref<3x32xf32, #gpu.address_space<workgroup>>
#two_warps = array<i32: 64, 1, 1>

gpu.module @count_too_large {
  // WARP: error: RAW race: memref.load reads what another thread copied, and the waits before it leave that copy in flight
  // WARP: waited: last by gpux.wait_group
  // WARP-NEXT: it completes 1 of 3 groups of this thread; the copy is in the 2nd: the count is 2 and has to be 1
  // WARP: help: wait for the copy before this: let the wait there leave at most 1 group in flight
  // WARP-NOT: put a gpu.barrier
  gpu.func @one_warp_copies(%in: memref<8x32xf32>, %out: memref<8x32xf32>) workgroup(%slots: !slots) kernel
      attributes {known_block_size = #two_warps} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %column = arith.muli %t, %c4 : index
    %copies = arith.cmpi ult, %t, %c8 : index
    %reads = arith.cmpi uge, %t, %c32 : index
    gpux.commit_group <cp_async>
    scf.if %copies {
      gpux.copy %in[%c0, %column], %slots[%c0, %column], 4 : memref<8x32xf32> to !slots
    }
    gpux.commit_group <cp_async>
    scf.for %i = %c0 to %c7 step %c1 {
      %next = arith.addi %i, %c1 : index
      %to = arith.remui %next, %c3 : index
      %slot = arith.remui %i, %c3 : index
      scf.if %copies {
        gpux.copy %in[%next, %column], %slots[%to, %column], 4 : memref<8x32xf32> to !slots
      }
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 2
      gpu.barrier
      scf.if %reads {
        %x = arith.subi %t, %c32 : index
        %value = memref.load %slots[%slot, %x] : !slots
        memref.store %value, %out[%i, %x] : memref<8x32xf32>
      }
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // The same in one warp, one of whose threads copies the halo of all.
  // THREAD: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // THREAD: help: wait for the copy before this: let the wait there leave no group in flight
  // THREAD-NOT: put a gpu.barrier
  gpu.func @one_thread_copies(%in: memref<8x36xf32>, %out: memref<8x32xf32>)
      workgroup(%slots: memref<3x36xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %is_first = arith.cmpi eq, %t, %c0 : index
    %after = arith.addi %t, %c4 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %slot = arith.remui %i, %c3 : index
      gpux.copy %in[%i, %t], %slots[%slot, %t], 1 : memref<8x36xf32> to memref<3x36xf32, #gpu.address_space<workgroup>>
      scf.if %is_first {
        gpux.copy %in[%i, %c32], %slots[%slot, %c32], 4
            : memref<8x36xf32> to memref<3x36xf32, #gpu.address_space<workgroup>>
      }
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 1
      gpu.barrier
      %value = memref.load %slots[%slot, %after] : memref<3x36xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%i, %t] : memref<8x32xf32>
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  // Where those who read come to no wait, it may be either.
  // ALONE: error: RAW race: memref.load reads what another thread copied, and no block barrier lies between that copy's wait and this
  // ALONE: help: put a gpu.barrier after the wait for the copy, before this; where one is, let the wait before it leave fewer groups
  gpu.func @copies_alone_wait(%in: memref<32xf32>, %out: memref<32xf32>)
      workgroup(%line: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = #two_warps} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %copies = arith.cmpi ult, %t, %c32 : index
    scf.if %copies {
      gpux.copy %in[%t], %line[%t], 1 : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 1
    }
    gpu.barrier
    scf.if %copies {
      gpux.wait_group <cp_async>, 0
    } else {
      %x = arith.subi %t, %c32 : index
      %value = memref.load %line[%x] : memref<32xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%x] : memref<32xf32>
    }
    gpu.return
  }

  // Here the wait is right, also for those who have no copy of their own, and the barrier after it is missing.
  // BARRIER: error: RAW race: memref.load reads what another thread copied, and no block barrier lies between
  // BARRIER: help: put a gpu.barrier after the wait for the copy, before this{{$}}
  gpu.func @barrier_missing(%in: memref<32xf32>, %out: memref<32xf32>)
      workgroup(%line: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = #two_warps} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %copies = arith.cmpi ult, %t, %c32 : index
    scf.if %copies {
      gpux.copy %in[%t], %line[%t], 1 : memref<32xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    }
    gpux.commit_group <cp_async>
    gpu.barrier
    gpux.wait_group <cp_async>, 0
    scf.if %copies {
    } else {
      %x = arith.subi %t, %c32 : index
      %value = memref.load %line[%x] : memref<32xf32, #gpu.address_space<workgroup>>
      memref.store %value, %out[%x] : memref<32xf32>
    }
    gpu.return
  }
}
