// What the generic proxy has written, a bulk copy must not touch before the writing thread has executed a proxy fence.
//
// RUN: not async-sim %s --kernel=written_and_stored | FileCheck %s --check-prefix=STORED
// RUN: async-sim %s --kernel=fenced_and_stored | FileCheck %s --check-prefix=FENCED
// RUN: not async-sim %s --kernel=fenced_by_another | FileCheck %s --check-prefix=ANOTHER
// RUN: not async-sim %s --kernel=fenced_too_late | FileCheck %s --check-prefix=LATE
// RUN: not async-sim %s --kernel=copied_and_stored | FileCheck %s --check-prefix=COPIED
// RUN: not async-sim %s --kernel=written_and_loaded | FileCheck %s --check-prefix=LOADED
// RUN: async-sim %s --kernel=read_and_loaded | FileCheck %s --check-prefix=READ
// RUN: not async-sim %s --kernel=read_and_loaded --strict-proxies | FileCheck %s --check-prefix=STRICT
// RUN: not async-sim %s --kernel=store_in_flight | FileCheck %s --check-prefix=FLIGHT
// RUN: async-sim %s --kernel=source_is_read | FileCheck %s --check-prefix=SOURCE

!line = memref<64xf16, #gpu.address_space<workgroup>>
!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @proxies {
  func.func private @store(%buf: !line, %y: memref<64xf16>, %leader: i1) {
    scf.if %leader {
      gpux.bulk_store %buf, %y : !line to memref<64xf16>
    }
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 0 read
    return
  }

  // STORED: error: missing fence: gpux.bulk_store goes through the asynchronous proxy to what was written through the generic one, and the writing thread has executed no proxy fence between
  // STORED-NEXT: this: thread 0 of block 0
  // STORED-NEXT: against: memref.store at {{.*}}, thread 0 of block 0
  // STORED-NEXT: on: bytes 0 to 1 of workgroup buffer %
  // STORED-NEXT: help: put nvvm.fence.proxy
  gpu.func @written_and_stored(%y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %leader = gpux.elect
    memref.store %v, %buf[%t] : !line
    gpu.barrier
    func.call @store(%buf, %y, %leader) : (!line, memref<64xf16>, i1) -> ()
    gpu.return
  }

  // FENCED: fenced_and_stored: clean
  gpu.func @fenced_and_stored(%y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %leader = gpux.elect
    memref.store %v, %buf[%t] : !line
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    func.call @store(%buf, %y, %leader) : (!line, memref<64xf16>, i1) -> ()
    gpu.return
  }

  // ANOTHER: error: missing fence: gpux.bulk_store
  // ANOTHER-NEXT: this: thread 0 of block 0
  // ANOTHER-NEXT: against: memref.store at {{.*}}, thread 1 of block 0
  gpu.func @fenced_by_another(%y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %leader = gpux.elect
    memref.store %v, %buf[%t] : !line
    gpu.barrier
    scf.if %leader {
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    }
    func.call @store(%buf, %y, %leader) : (!line, memref<64xf16>, i1) -> ()
    gpu.return
  }

  // After the barrier, the fence of another thread is not known to have been executed.
  // LATE: error: missing fence: gpux.bulk_store
  gpu.func @fenced_too_late(%y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %leader = gpux.elect
    memref.store %v, %buf[%t] : !line
    gpu.barrier
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    func.call @store(%buf, %y, %leader) : (!line, memref<64xf16>, i1) -> ()
    gpu.return
  }

  // Copies that are not bulk copies go through the generic proxy; the fence belongs after the wait.
  // COPIED: error: missing fence: gpux.bulk_store
  // COPIED-NEXT: this: thread 0 of block 0
  // COPIED-NEXT: against: gpux.copy at
  gpu.func @copied_and_stored(%x: memref<64xf16>, %y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 8, 1, 1>} {
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c8 : index
    %leader = gpux.elect
    gpux.copy %x[%i], %buf[%i], 8 : memref<64xf16> to !line
    gpux.commit_group <cp_async>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    func.call @store(%buf, %y, %leader) : (!line, memref<64xf16>, i1) -> ()
    gpu.return
  }

  // LOADED: error: missing fence: gpux.bulk_load
  // LOADED-NOT: error
  gpu.func @written_and_loaded(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %ticks = arith.constant 1000 : index
    %false = arith.constant false
    %t = gpu.thread_id x
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    memref.store %v, %buf[%t] : !line
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !one
      gpux.bulk_load %x, %buf, %full[%c0] : memref<64xf16> to !line, !one
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !one
    %w = memref.load %buf[%c0] : !line
    gpu.return
  }

  // Where a load is seen to be complete, its bytes are there for both. Between reading and the next load a barrier is enough,
  // unless more is asked for.
  // READ: read_and_loaded: clean
  // STRICT: error: missing fence: gpux.bulk_load writes through the asynchronous proxy what was read through the generic one
  gpu.func @read_and_loaded(%x: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %ticks = arith.constant 1000 : index
    %false = arith.constant false
    %true = arith.constant true
    %t = gpu.thread_id x
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !one
      gpux.bulk_load %x, %buf, %full[%c0] : memref<64xf16> to !line, !one
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !one
    %v = memref.load %buf[%t] : !line
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !one
      gpux.bulk_load %x, %buf, %full[%c0] : memref<64xf16> to !line, !one
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %true, %ticks : !one
    %w = memref.load %buf[%t] : !line
    gpu.return
  }

  // In token form: the first token lets the source change, the second the destination be read.
  // FLIGHT: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
  // FLIGHT: also: WAR of memref.store at {{.*}} and gpux.bulk_store at
  gpu.func @store_in_flight(%y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    memref.store %v, %buf[%t] : !line
    %read, %done = gpux.bulk_store async %buf, %y : !line to memref<64xf16>
    memref.store %v, %buf[%t] : !line
    async.await %read
    %w = memref.load %y[%t] : memref<64xf16>
    gpu.return
  }

  // SOURCE: source_is_read: clean
  gpu.func @source_is_read(%y: memref<64xf16>) workgroup(%buf: !line) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    memref.store %v, %buf[%t] : !line
    %read, %done = gpux.bulk_store async %buf, %y : !line to memref<64xf16>
    async.await %read
    memref.store %v, %buf[%t] : !line
    async.await %done
    %w = memref.load %y[%t] : memref<64xf16>
    gpu.return
  }
}
