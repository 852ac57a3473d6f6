// The headline says how long the warps wait, and where: for copies, at block barriers, at mbarriers. Here the second warp
// does more than the first one, which waits for it; and all warps wait for what one thread loads.
//
// RUN: async-sim %s --kernel=barrier --timeline=%t.svg | FileCheck %s --check-prefix=BARRIER
// RUN: FileCheck %s --check-prefix=SVG --input-file=%t.svg
// RUN: async-sim %s --kernel=arrivals --trace=%t.json | FileCheck %s --check-prefix=ARRIVALS
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t.json
// RUN: async-sim %s --kernel=load --trace=%t.json --cost latency=1000 | FileCheck %s --check-prefix=LOAD
// RUN: async-sim %s --kernel=barrier --trace=%t.json --json | FileCheck %s --check-prefix=JSON

!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!local = memref<64xf16, #gpu.address_space<workgroup>>

gpu.module @waits {
  // BARRIER: barrier in {{.*}}: 47 cycles; warps wait 40: 0 for copies, 40 at block barriers, 0 at mbarriers
  // SVG: waits 40 cycles for other warps: gpu.barrier at

  // JSON: "stall": 40,
  // JSON-NEXT: "waits": {
  // JSON-NEXT: "barriers": 40,
  // JSON-NEXT: "copies": 0,
  // JSON-NEXT: "mbarriers": 0
  gpu.func @barrier() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %second = arith.cmpi uge, %t, %c32 : index
    %trips = arith.select %second, %c10, %c0 : index
    // Each takes 4 cycles: an addition, and what counts the iterations.
    scf.for %i = %c0 to %trips step %c1 {
      %x = arith.addi %i, %t : index
    }
    gpu.barrier
    gpu.return
  }

  // ARRIVALS: arrivals in {{.*}} cycles; warps wait 82: 0 for copies, 0 at block barriers, 82 at mbarriers
  // TRACE: waits 82 cycles for a phase: nvgpu.mbarrier.try_wait.parity at
  gpu.func @arrivals() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c20 = arith.constant 20 : index
    %c32 = arith.constant 32 : index
    %false = arith.constant false
    %ticks = arith.constant 1000 : index
    %t = gpu.thread_id x
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %full[%c0], %c32, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    gpu.barrier
    %second = arith.cmpi uge, %t, %c32 : index
    scf.if %second {
      scf.for %i = %c0 to %c20 step %c1 {
        %x = arith.addi %i, %t : index
      }
      %token = nvgpu.mbarrier.arrive %full[%c0] : !one -> !nvgpu.mbarrier.token
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !one
    gpu.return
  }

  // Both warps wait for it, more than 1000 cycles each.
  // LOAD: load in {{.*}} cycles; warps wait 2026: 0 for copies, 0 at block barriers, 2026 at mbarriers
  gpu.func @load(%x: memref<64xf16>) workgroup(%buf: !local) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %false = arith.constant false
    %ticks = arith.constant 1000 : index
    %leader = gpux.elect
    %full = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %full[%c0], %c128 : !one
      gpux.bulk_load %x, %buf, %full[%c0] : memref<64xf16> to !local, !one
    }
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !one
    gpu.return
  }
}
