// Thread 0 fills a slot, threads 1 and 2 empty it: one arrival makes a phase of %full, two make one of %empty. Where one of the
// counts is wrong, the report begins with that mbarrier, though threads stand at both.
//
// RUN: async-sim %s | FileCheck %s
// RUN: sed '/EMPTY/s/c2/c1/' %s | not async-sim - | FileCheck %s --check-prefix=TOO-FEW
// RUN: sed '/EMPTY/s/c2/c3/' %s | not async-sim - | FileCheck %s --check-prefix=TOO-MANY
// RUN: sed '/FULL/s/c1/c2/' %s | not async-sim - | FileCheck %s --check-prefix=NEVER-FULL

!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @counts {
  // CHECK: slot: clean

  // TOO-FEW: error: nvgpu.mbarrier.arrive: is one arrival too many: phase 0 of number 0 of the mbarriers of {{.*}} has 1 arrival, others have made them, and nothing orders this after them
  // TOO-FEW-NEXT: this: thread 2 of block 0
  // TOO-FEW-NEXT: against: nvgpu.mbarrier.arrive at {{.*}}, thread 1 of block 0
  // TOO-FEW: help: initialize the mbarrier with as many arrivals as threads make in each phase

  // TOO-MANY: error: nvgpu.mbarrier.try_wait.parity: waits forever for phase 0 of {{.*}}: 1 of its 3 arrivals are missing
  // TOO-MANY-NEXT: this: thread 0 of block 0

  // NEVER-FULL: error: nvgpu.mbarrier.try_wait.parity: waits forever for phase 0 of {{.*}}: 1 of its 2 arrivals are missing
  // NEVER-FULL-NEXT: this: thread 1 of block 0
  // NEVER-FULL: also: deadlock of nvgpu.mbarrier.try_wait.parity at
  gpu.func @slot() kernel attributes {known_block_size = array<i32: 3, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %ticks = arith.constant 1000 : index
    %true = arith.constant true
    %t = gpu.thread_id x
    %fills = arith.cmpi eq, %t, %c0 : index
    %full = nvgpu.mbarrier.create -> !bar
    %empty = nvgpu.mbarrier.create -> !bar
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %fills : !bar // FULL
    nvgpu.mbarrier.init %empty[%c0], %c2, predicate = %fills : !bar // EMPTY
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %fills {
      scf.for %i = %c0 to %c3 step %c1 {
        %bits = arith.index_cast %i : index to i64
        %odd = arith.trunci %bits : i64 to i1
        %parity = arith.xori %odd, %true : i1
        nvgpu.mbarrier.try_wait.parity %empty[%c0], %parity, %ticks : !bar
        %filled = nvgpu.mbarrier.arrive %full[%c0] : !bar -> !nvgpu.mbarrier.token
      }
    } else {
      scf.for %i = %c0 to %c3 step %c1 {
        %bits = arith.index_cast %i : index to i64
        %parity = arith.trunci %bits : i64 to i1
        nvgpu.mbarrier.try_wait.parity %full[%c0], %parity, %ticks : !bar
        %emptied = nvgpu.mbarrier.arrive %empty[%c0] : !bar -> !nvgpu.mbarrier.token
      }
    }
    gpu.return
  }
}
