// An accumulator in flight that takes the place of another one at the end of an iteration would have to be moved, for which ptxas waits. So
// the loop is unrolled until each is in its own place again. What is left over after that waits in each iteration.
//
// RUN: async-opt %s --gpux-to-nvvm=chip=sm_90a --verify-diagnostics | FileCheck %s

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @take_turns
  // CHECK: scf.for
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK-NOT: nvvm.wgmma
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK: scf.if
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NOT: nvvm.wgmma.wait
  // CHECK: mov.b32
  // CHECK: else
  gpu.func @take_turns(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %y, %d : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // The second of four iterations is the last of the unrolled loop: nothing is left over.
  // CHECK-LABEL: gpu.func @even
  // CHECK: scf.for
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK-NOT: scf.{{for|if}}
  // CHECK: gpu.return
  gpu.func @even() kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %y, %d : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // What is made in an iteration stays for another one, in the next place.
  // CHECK-LABEL: gpu.func @queue
  // CHECK: scf.for
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 2
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 2
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK: scf.if
  gpu.func @queue(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      %z = nvgpu.warpgroup.mma.init.accumulator -> !acc
      %d = gpux.wgmma %a, %a, %z : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 2
      scf.yield %d, %x : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // CHECK-LABEL: gpu.func @stays
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK-NOT: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK-LABEL: gpu.func @complete
  gpu.func @stays(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      %e = gpux.wgmma %a, %a, %d : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %e, %y : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // What is complete is moved by the end of the iteration, and not between multiplications.
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NOT: nvvm.wgmma
  // CHECK-COUNT-64: mov.b32
  // CHECK-NOT: mov.b32
  // CHECK: scf.yield
  // CHECK-NOT: nvvm.wgmma.wait
  // CHECK-LABEL: gpu.func @nine
  gpu.func @complete(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 0
      scf.yield %y, %d : !acc, !acc
    }
    gpu.return
  }

  // Nine iterations are too many to unroll.
  gpu.func @nine(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r:9 = scf.for %i = %c0 to %n step %c1 iter_args(%0 = %c, %1 = %c, %2 = %c, %3 = %c, %4 = %c, %5 = %c, %6 = %c, %7 = %c, %8 = %c)
        -> (!acc, !acc, !acc, !acc, !acc, !acc, !acc, !acc, !acc) {
      // expected-remark @+1 {{is in flight where it takes the place of another accumulator, from 0 to 8 of those values that the loop carries: ptxas waits for it and moves its registers}}
      %d = gpux.wgmma %a, %a, %0 : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %1, %2, %3, %4, %5, %6, %7, %8, %d : !acc, !acc, !acc, !acc, !acc, !acc, !acc, !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // An scf.while is not unrolled.
  gpu.func @while(%p: i1) kernel {
    %a = ub.poison : !a
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.while (%x = %c, %y = %c) : (!acc, !acc) -> (!acc, !acc) {
      scf.condition(%p) %x, %y : !acc, !acc
    } do {
    ^bb0(%x: !acc, %y: !acc):
      // expected-remark @+1 {{is in flight where it takes the place of another accumulator, from 0 to 1 of those values that the loop carries}}
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %y, %d : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // The condition of this one swaps them back, so that each is added to what it was.
  gpu.func @swapped(%p: i1) kernel {
    %a = ub.poison : !a
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.while (%x = %c, %y = %c) : (!acc, !acc) -> (!acc, !acc) {
      scf.condition(%p) %y, %x : !acc, !acc
    } do {
    ^bb0(%y: !acc, %x: !acc):
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %d, %y : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}
