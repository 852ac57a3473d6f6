// A ring of tiles in issued form: one thread issues, all wait for the phase of the slot's mbarrier. The slot is armed again
// after a block barrier, or after an mbarrier on which the readers arrive.
//
// RUN: async-sim %s --kernel=ring --arg 0=512x64:random --schedule=exhaustive | FileCheck %s --check-prefix=RING
// RUN: async-sim %s --kernel=empty --arg 0=512x64:random --schedule=random --runs=4 | FileCheck %s --check-prefix=EMPTY
// RUN: async-sim %s --kernel=bytes --arg 0=64x24:ramp --print | FileCheck %s --check-prefix=BYTES
// RUN: async-sim %s --kernel=polls | FileCheck %s --check-prefix=POLLS

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!small = !nvgpu.tensormap.descriptor<tensor = memref<2x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!slots = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!at = memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @issued {
  func.func private @slot(%buf: !slots, %i: index) -> !at {
    %c3 = arith.constant 3 : index
    %s = arith.remui %i, %c3 : index
    %at = memref.subview %buf[%s, 0, 0] [1, 64, 64] [1, 1, 1] : !slots to !at
    return %at : !at
  }

  // Loads tile %i to its slot.
  func.func private @issue(%x: !tile, %buf: !slots, %full: !ring, %i: index) {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %bytes = arith.constant 8192 : index
    %s = arith.remui %i, %c3 : index
    %row = arith.muli %i, %c64 : index
    %at = func.call @slot(%buf, %i) : (!slots, index) -> !at
    nvgpu.mbarrier.arrive.expect_tx %full[%s], %bytes : !ring
    gpux.tma_load %x[%row, %c0], %at, %full[%s] : !tile, !at, !ring
    return
  }

  // Waits for use %i of a ring of mbarriers: round 0 has parity 0.
  func.func private @wait(%ring: !ring, %i: index) {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %ticks = arith.constant 1000 : index
    %s = arith.remui %i, %c3 : index
    %round = arith.divui %i, %c3 : index
    %odd = arith.remui %round, %c2 : index
    %parity = arith.index_cast %odd : index to i1
    nvgpu.mbarrier.try_wait.parity %ring[%s], %parity, %ticks : !ring
    return
  }

  func.func private @init(%ring: !ring, %leader: i1, %count: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    nvgpu.mbarrier.init %ring[%c0], %count, predicate = %leader : !ring
    nvgpu.mbarrier.init %ring[%c1], %count, predicate = %leader : !ring
    nvgpu.mbarrier.init %ring[%c2], %count, predicate = %leader : !ring
    return
  }

  func.func private @inval(%ring: !ring) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c3 step %c1 {
      %a = nvgpu.mbarrier.get %ring[%i] : !ring -> i64
      %p = llvm.inttoptr %a : i64 to !llvm.ptr<3>
      nvvm.mbarrier.inval %p : !llvm.ptr<3>
    }
    return
  }

  // Thread t sums up column t of tile %i.
  func.func private @column(%buf: !slots, %i: index, %y: memref<8x64xf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f16
    %t = gpu.thread_id x
    %from = func.call @slot(%buf, %i) : (!slots, index) -> !at
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f16 {
      %v = memref.load %from[%k, %t] : !at
      %next = arith.addf %sum, %v : f16
      scf.yield %next : f16
    }
    memref.store %sum, %y[%i, %t] : memref<8x64xf16>
    return
  }

  // RING: ring: clean
  gpu.func @ring(%x: !tile, %y: memref<8x64xf16>) workgroup(%buf: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !ring
    func.call @init(%full, %leader, %c1) : (!ring, i1, index) -> ()
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %leader {
      func.call @issue(%x, %buf, %full, %c0) : (!tile, !slots, !ring, index) -> ()
      func.call @issue(%x, %buf, %full, %c1) : (!tile, !slots, !ring, index) -> ()
    }
    scf.for %i = %c0 to %c8 step %c1 {
      func.call @wait(%full, %i) : (!ring, index) -> ()
      gpu.barrier
      %ahead = arith.addi %i, %c2 : index
      %more = arith.cmpi ult, %ahead, %c8 : index
      %issues = arith.andi %more, %leader : i1
      scf.if %issues {
        func.call @issue(%x, %buf, %full, %ahead) : (!tile, !slots, !ring, index) -> ()
      }
      func.call @column(%buf, %i, %y) : (!slots, index, memref<8x64xf16>) -> ()
    }
    gpu.barrier
    scf.if %leader {
      func.call @inval(%full) : (!ring) -> ()
    }
    gpu.return
  }

  // Readers arrive on a second ring, for which the issuing thread waits.
  // EMPTY: empty: clean
  gpu.func @empty(%x: !tile, %y: memref<8x64xf16>) workgroup(%buf: !slots) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !ring
    %empty = nvgpu.mbarrier.create -> !ring
    func.call @init(%full, %leader, %c1) : (!ring, i1, index) -> ()
    func.call @init(%empty, %leader, %c64) : (!ring, i1, index) -> ()
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %leader {
      scf.for %i = %c0 to %c3 step %c1 {
        func.call @issue(%x, %buf, %full, %i) : (!tile, !slots, !ring, index) -> ()
      }
    }
    scf.for %i = %c0 to %c8 step %c1 {
      func.call @wait(%full, %i) : (!ring, index) -> ()
      func.call @column(%buf, %i, %y) : (!slots, index, memref<8x64xf16>) -> ()
      %s = arith.remui %i, %c3 : index
      %arrived = nvgpu.mbarrier.arrive %empty[%s] : !ring -> !nvgpu.mbarrier.token
      %more = arith.cmpi ult, %i, %c5 : index
      %issues = arith.andi %more, %leader : i1
      scf.if %issues {
        func.call @wait(%empty, %i) : (!ring, index) -> ()
        %ahead = arith.addi %i, %c3 : index
        func.call @issue(%x, %buf, %full, %ahead) : (!tile, !slots, !ring, index) -> ()
      }
    }
    gpu.return
  }

  // Bytes may be expected apart from the arrival, also after the load's issue.
  // BYTES: argument 1: 0 1 2 3 4 5 6 7 24 25 26 27 28 29 30 31
  // BYTES: argument 2: 0 1 2 3 4 5 6 7 24 25 26 27 28 29 30 31
  gpu.func @bytes(%x: !small, %y: memref<2x8xf16>, %z: memref<2x8xf16>)
      workgroup(%buf: memref<2x8xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %bytes = arith.constant 32 : i32
    %ticks = arith.constant 1000 : index
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %leader {
      gpux.tma_load %x[%c0, %c0], %buf, %full[%c0] : !small, memref<2x8xf16, #gpu.address_space<workgroup>>, !one
      %a = nvgpu.mbarrier.get %full[%c0] : !one -> i64
      %p = llvm.inttoptr %a : i64 to !llvm.ptr<3>
      nvvm.mbarrier.expect_tx %p, %bytes : !llvm.ptr<3>, i32
      %token = nvgpu.mbarrier.arrive %full[%c0] : !one -> !nvgpu.mbarrier.token
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !one
    scf.if %leader {
      gpux.bulk_store %buf, %y : memref<2x8xf16, #gpu.address_space<workgroup>> to memref<2x8xf16>
      gpux.bulk_store %buf, %z : memref<2x8xf16, #gpu.address_space<workgroup>> to memref<2x8xf16>
    }
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 0 read
    gpu.return
  }

  // POLLS: polls: clean
  gpu.func @polls(%x: memref<64xf16>) workgroup(%buf: memref<64xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : i32
    %ring = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %ring[%c0], %c1 : !one
    %a = nvgpu.mbarrier.get %ring[%c0] : !one -> i64
    %p = llvm.inttoptr %a : i64 to !llvm.ptr<3>
    nvvm.mbarrier.expect_tx %p, %bytes : !llvm.ptr<3>, i32
    gpux.bulk_load %x, %buf, %ring[%c0] : memref<64xf16> to memref<64xf16, #gpu.address_space<workgroup>>, !one
    %token = nvgpu.mbarrier.arrive %ring[%c0] : !one -> !nvgpu.mbarrier.token
    scf.while : () -> () {
      %done = nvgpu.mbarrier.test.wait %ring[%c0], %token : !one, !nvgpu.mbarrier.token
      %true = arith.constant true
      %waits = arith.xori %done, %true : i1
      scf.condition(%waits)
    } do {
      scf.yield
    }
    %v = memref.load %buf[%c0] : memref<64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}
