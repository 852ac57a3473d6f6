// Barriers with a number: who meets whom, and what that orders.
//
// RUN: async-sim %s --kernel=handed_over --arg 0=zero --print | FileCheck %s --check-prefix=HANDED
// RUN: async-sim %s --kernel=ring | FileCheck %s --check-prefix=RING
// RUN: async-sim %s --kernel=ring --timeline=%t.svg | FileCheck %s --check-prefix=RING
// RUN: async-sim %s --kernel=halves | FileCheck %s --check-prefix=HALVES
// RUN: async-sim %s --kernel=whole_block --block=32 | FileCheck %s --check-prefix=WHOLE
// RUN: async-sim %s --kernel=whole_block --block=48 | FileCheck %s --check-prefix=WHOLE
// RUN: async-sim %s --kernel=zero | FileCheck %s --check-prefix=ZERO
// RUN: async-sim %s --kernel=some_have_ended | FileCheck %s --check-prefix=ENDED
// RUN: not async-sim %s --kernel=other_half | FileCheck %s --check-prefix=OTHER
// RUN: not async-sim %s --kernel=written_after_arrival | FileCheck %s --check-prefix=AFTER
// RUN: not async-sim %s --kernel=arrival_waits_not | FileCheck %s --check-prefix=WAITS
// RUN: not async-sim %s --kernel=too_few | FileCheck %s --check-prefix=FEW
// RUN: not async-sim %s --kernel=others_have_ended | FileCheck %s --check-prefix=GONE
// RUN: not async-sim %s --kernel=crossed | FileCheck %s --check-prefix=CROSSED
// RUN: not async-sim %s --kernel=other_count | FileCheck %s --check-prefix=COUNT
// RUN: not async-sim %s --kernel=ahead | FileCheck %s --check-prefix=AHEAD
// RUN: not async-sim %s --kernel=beside_gpu_barrier | FileCheck %s --check-prefix=GPU
// RUN: not async-sim %s --kernel=half_a_warp | FileCheck %s --check-prefix=WARP
// RUN: not async-sim %s --kernel=by_thread | FileCheck %s --check-prefix=THREAD
// RUN: not async-sim %s --kernel=part_of_a_warp | FileCheck %s --check-prefix=PART
// RUN: not async-sim %s --kernel=no_such_barrier | FileCheck %s --check-prefix=NUMBER
// RUN: async-sim %s --kernel=reduces --arg 0=zero --print | FileCheck %s --check-prefix=SUMS

!buf = memref<128xi32, #gpu.address_space<workgroup>>

gpu.module @named {
  // Each thread writes its number.
  func.func private @write(%buf: !buf) {
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i32
    memref.store %n, %buf[%t] : !buf
    return
  }

  // And reads that of the thread %far further on.
  func.func private @read(%buf: !buf, %far: index) -> i32 {
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %sum = arith.addi %t, %far : index
    %i = arith.remui %sum, %c128 : index
    %v = memref.load %buf[%i] : !buf
    return %v : i32
  }

  // True in threads 0 to 31.
  func.func private @is_first_warp() -> i1 {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %is = arith.cmpi ult, %t, %c32 : index
    return %is : i1
  }

  // HANDED: handed_over: clean
  // HANDED: argument 0: 0 1 2 3 4 5
  gpu.func @handed_over(%y: memref<32xi32>) workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %produces = func.call @is_first_warp() : () -> i1
    scf.if %produces {
      func.call @write(%buf) : (!buf) -> ()
      nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    } else {
      nvvm.barrier id = %c1 number_of_threads = %c64
      %i = arith.subi %t, %c32 : index
      %v = memref.load %buf[%i] : !buf
      memref.store %v, %y[%i] : memref<32xi32>
    }
    gpu.return
  }

  // Barrier 1 says that the buffer is full, barrier 2 that it is empty.
  // RING: ring: clean
  gpu.func @ring() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %full = arith.constant 1 : i32
    %empty = arith.constant 2 : i32
    %both = arith.constant 64 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c96 = arith.constant 96 : index
    %produces = func.call @is_first_warp() : () -> i1
    scf.if %produces {
      scf.for %i = %c0 to %c4 step %c1 {
        nvvm.barrier id = %empty number_of_threads = %both
        func.call @write(%buf) : (!buf) -> ()
        nvvm.barrier.arrive id = %full number_of_threads = %both
      }
    } else {
      nvvm.barrier.arrive id = %empty number_of_threads = %both
      scf.for %i = %c0 to %c4 step %c1 {
        nvvm.barrier id = %full number_of_threads = %both
        %v = func.call @read(%buf, %c96) : (!buf, index) -> i32
        %last = arith.constant 3 : index
        %again = arith.cmpi ult, %i, %last : index
        scf.if %again {
          nvvm.barrier.arrive id = %empty number_of_threads = %both
        }
      }
    }
    gpu.return
  }

  // Each half of the block has a barrier of its own.
  // HALVES: halves: clean
  gpu.func @halves() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c64_index = arith.constant 64 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %t = gpu.thread_id x
    %half = arith.divui %t, %c64_index : index
    %half_int = arith.index_cast %half : index to i32
    %id = arith.addi %half_int, %c1 : i32
    %warp = arith.divui %t, %c32 : index
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %odd = arith.remui %warp, %c2 : index
    %is_odd = arith.cmpi ne, %odd, %c0 : index
    %far = arith.select %is_odd, %c96, %c32 : index
    func.call @write(%buf) : (!buf) -> ()
    nvvm.barrier id = %id number_of_threads = %c64
    %v = func.call @read(%buf, %far) : (!buf, index) -> i32
    nvvm.barrier id = %id number_of_threads = %c64
    func.call @write(%buf) : (!buf) -> ()
    gpu.return
  }

  // Without a number of threads, all come, those of the last warp, too, which may have fewer.
  // WHOLE: whole_block: clean
  gpu.func @whole_block() workgroup(%buf: memref<48xi32, #gpu.address_space<workgroup>>) kernel {
    %c3 = arith.constant 3 : i32
    %c1 = arith.constant 1 : index
    %c47 = arith.constant 47 : index
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i32
    memref.store %n, %buf[%t] : memref<48xi32, #gpu.address_space<workgroup>>
    nvvm.barrier id = %c3
    %size = gpu.block_dim x
    %next = arith.addi %t, %c1 : index
    %i = arith.remui %next, %size : index
    %v = memref.load %buf[%i] : memref<48xi32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Barrier 0 of all threads is that of gpu.barrier.
  // ZERO: zero: clean
  gpu.func @zero() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : index
    func.call @write(%buf) : (!buf) -> ()
    nvvm.barrier id = %c0
    %v = func.call @read(%buf, %c32) : (!buf, index) -> i32
    gpu.return
  }

  // Threads that have ended are counted with their warp.
  // ENDED: some_have_ended: clean
  gpu.func @some_have_ended() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c5 = arith.constant 5 : index
    %t = gpu.thread_id x
    %ends = arith.cmpi eq, %t, %c5 : index
    cf.cond_br %ends, ^end, ^on
  ^on:
    nvvm.barrier id = %c1 number_of_threads = %c64
    cf.br ^end
  ^end:
    gpu.return
  }

  // OTHER: error: RAW race: memref.load reads what another thread wrote
  gpu.func @other_half() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c64_index = arith.constant 64 : index
    %t = gpu.thread_id x
    %half = arith.divui %t, %c64_index : index
    %half_int = arith.index_cast %half : index to i32
    %id = arith.addi %half_int, %c1 : i32
    func.call @write(%buf) : (!buf) -> ()
    nvvm.barrier id = %id number_of_threads = %c64
    %v = func.call @read(%buf, %c64_index) : (!buf, index) -> i32
    gpu.return
  }

  // AFTER: error: RAW race: memref.load reads what another thread wrote
  gpu.func @written_after_arrival() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c96 = arith.constant 96 : index
    %produces = func.call @is_first_warp() : () -> i1
    scf.if %produces {
      nvvm.barrier.arrive id = %c1 number_of_threads = %c64
      func.call @write(%buf) : (!buf) -> ()
    } else {
      nvvm.barrier id = %c1 number_of_threads = %c64
      %v = func.call @read(%buf, %c96) : (!buf, index) -> i32
    }
    gpu.return
  }

  // Who arrives is ordered after nothing.
  // WAITS: error: {{RAW|WAR}} race: memref.
  gpu.func @arrival_waits_not() workgroup(%buf: !buf) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c32 = arith.constant 32 : index
    %arrives = func.call @is_first_warp() : () -> i1
    func.call @write(%buf) : (!buf) -> ()
    scf.if %arrives {
      nvvm.barrier.arrive id = %c1 number_of_threads = %c64
      %v = func.call @read(%buf, %c32) : (!buf, index) -> i32
    } else {
      nvvm.barrier id = %c1 number_of_threads = %c64
    }
    gpu.return
  }

  // FEW: error: nvvm.barrier: waits forever at barrier 5: 64 of 96 threads have come
  // FEW-NEXT: this: thread 0 of block 0
  // FEW-NEXT: help: let as many threads come to it as it is of
  // FEW-NOT: error
  gpu.func @too_few() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c5 = arith.constant 5 : i32
    %c96 = arith.constant 96 : i32
    nvvm.barrier id = %c5 number_of_threads = %c96
    gpu.return
  }

  // GONE: error: nvvm.barrier: waits forever at barrier 5: 32 of 64 threads have come, and others have ended
  gpu.func @others_have_ended() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c5 = arith.constant 5 : i32
    %c64 = arith.constant 64 : i32
    %waits = func.call @is_first_warp() : () -> i1
    scf.if %waits {
      nvvm.barrier id = %c5 number_of_threads = %c64
    }
    gpu.return
  }

  // CROSSED: error: nvvm.barrier: waits forever at barrier 1: 32 of 64 threads have come, and others stand elsewhere
  // CROSSED: error: nvvm.barrier: waits forever at barrier 2: 32 of 64 threads have come, and others stand elsewhere
  gpu.func @crossed() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c64 = arith.constant 64 : i32
    %first = func.call @is_first_warp() : () -> i1
    scf.if %first {
      nvvm.barrier id = %c1 number_of_threads = %c64
      nvvm.barrier id = %c2 number_of_threads = %c64
    } else {
      nvvm.barrier id = %c2 number_of_threads = %c64
      nvvm.barrier id = %c1 number_of_threads = %c64
    }
    gpu.return
  }

  // COUNT: error: nvvm.barrier: comes to barrier 1 with 64 threads, and others wait for 96 threads there
  gpu.func @other_count() kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c96 = arith.constant 96 : i32
    %first = func.call @is_first_warp() : () -> i1
    %count = arith.select %first, %c96, %c64 : i32
    nvvm.barrier id = %c1 number_of_threads = %count
    gpu.return
  }

  // AHEAD: error: {{.*}}: comes to barrier 1, and may be counted for its last round: nothing orders it after the threads that came then
  gpu.func @ahead() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %produces = func.call @is_first_warp() : () -> i1
    scf.if %produces {
      nvvm.barrier.arrive id = %c1 number_of_threads = %c64
      nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    } else {
      nvvm.barrier id = %c1 number_of_threads = %c64
      nvvm.barrier id = %c1 number_of_threads = %c64
    }
    gpu.return
  }

  // GPU: error: gpu.barrier: comes to barrier 0, and may be counted for its last round
  gpu.func @beside_gpu_barrier() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %first = func.call @is_first_warp() : () -> i1
    scf.if %first {
      nvvm.barrier id = %c0 number_of_threads = %c32
    }
    gpu.barrier
    gpu.return
  }

  // WARP: error: nvvm.barrier: this is an operation of a whole warp, and not all of its threads come to it
  gpu.func @half_a_warp() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %half = arith.cmpi ult, %t, %c16 : index
    scf.if %half {
      nvvm.barrier id = %c1 number_of_threads = %c32
    } else {
      nvvm.barrier id = %c1 number_of_threads = %c32
    }
    gpu.return
  }

  // THREAD: error: nvvm.barrier: threads of the warp come here together, and name different barriers or numbers of threads
  gpu.func @by_thread() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c32 = arith.constant 32 : i32
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %odd = arith.remui %t, %c2 : index
    %id = arith.index_cast %odd : index to i32
    nvvm.barrier id = %id number_of_threads = %c32
    gpu.return
  }

  // PART: error: nvvm.barrier: a barrier can't be of 48 threads, only of whole warps: a multiple of 32
  gpu.func @part_of_a_warp() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c48 = arith.constant 48 : i32
    nvvm.barrier id = %c1 number_of_threads = %c48
    gpu.return
  }

  // NUMBER: error: nvvm.barrier.arrive: there is no barrier 16: a block has barriers 0 to 15
  gpu.func @no_such_barrier() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c16 = arith.constant 16 : i32
    %c64 = arith.constant 64 : i32
    nvvm.barrier.arrive id = %c16 number_of_threads = %c64
    gpu.return
  }

  // Three of 64 threads have a predicate that is not 0. What was stored before, others may load.
  // SUMS: reduces: clean
  // SUMS: argument 0: 3 0 1 3 0 1 {{.*}} 3 0 1
  gpu.func @reduces(%out: memref<64x3xi32>) workgroup(%s: memref<64xi32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c61 = arith.constant 61 : index
    %c63 = arith.constant 63 : index
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %t = gpu.thread_id x
    %last = arith.cmpi uge, %t, %c61 : index
    %p = arith.select %last, %four, %zero : i32
    memref.store %p, %s[%t] : memref<64xi32, #gpu.address_space<workgroup>>
    %popc = nvvm.barrier #nvvm.reduction<popc> %p -> i32
    %mirrored = arith.subi %c63, %t : index
    %q = memref.load %s[%mirrored] : memref<64xi32, #gpu.address_space<workgroup>>
    %and = nvvm.barrier #nvvm.reduction<and> %q -> i32
    %or = nvvm.barrier #nvvm.reduction<or> %q -> i32
    memref.store %popc, %out[%t, %c0] : memref<64x3xi32>
    memref.store %and, %out[%t, %c1] : memref<64x3xi32>
    memref.store %or, %out[%t, %c2] : memref<64x3xi32>
    gpu.return
  }
}
