// What is left over after an unrolled loop moves accumulators, so nothing may be in flight at its end: neither what a branch or loop in it
// has multiplied, nor what is not committed yet.
//
// RUN: async-opt %s --gpux-to-nvvm=chip=sm_90a 2>/dev/null | FileCheck %s

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @in_a_branch
  // CHECK:         scf.for
  // CHECK:           wait.group.sync.aligned 1
  // CHECK:           scf.if
  // CHECK:           wait.group.sync.aligned 1
  // CHECK:           scf.if
  // CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NEXT:    scf.if
  // CHECK:           wait.group.sync.aligned 0
  // CHECK:           scf.if
  // CHECK:             nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:        scf.yield
  // CHECK-NEXT:      } else {
  // CHECK-NEXT:        scf.yield
  // CHECK-NEXT:      }
  // CHECK-NEXT:      nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           mov.b32
  gpu.func @in_a_branch(%n: index, %p: i1) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      %e = scf.if %p -> !acc {
        %f = gpux.wgmma %a, %a, %y : !a, !a, !acc
        gpux.commit_group <wgmma>
        scf.yield %f : !acc
      } else {
        scf.yield %y : !acc
      }
      scf.yield %e, %d : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // The group of an iteration is committed by the next one.
  // CHECK-LABEL: gpu.func @not_committed
  // CHECK:         scf.for
  // CHECK:           wait.group.sync.aligned 1
  // CHECK:           wait.group.sync.aligned 1
  // CHECK:         nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:    nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NEXT:    scf.if
  // CHECK-NEXT:      nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:      nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           nvvm.wgmma.mma_async
  // CHECK:           nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:      nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           mov.b32
  gpu.func @not_committed(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      scf.yield %y, %d : !acc, !acc
    }
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // An inner loop is unrolled, and then the one around it with what it has become.
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK:         scf.for
  // CHECK:           scf.for
  // CHECK:           wait.group.sync.aligned 0
  // CHECK-NEXT:      scf.if
  // CHECK:             wait.group.sync.aligned 0
  // CHECK:           scf.for
  // CHECK:           wait.group.sync.aligned 0
  // CHECK-NEXT:      scf.if
  // CHECK:             wait.group.sync.aligned 0
  gpu.func @in_a_loop(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%v = %c, %w = %c, %x = %c, %y = %c) -> (!acc, !acc, !acc, !acc) {
      %r, %s = scf.for %j = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (!acc, !acc) {
        %e = gpux.wgmma %a, %a, %p : !a, !a, !acc
        gpux.commit_group <wgmma>
        gpux.wait_group <wgmma>, 1
        scf.yield %q, %e : !acc, !acc
      }
      %d = gpux.wgmma %a, %a, %v : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %w, %d, %r, %s : !acc, !acc, !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}
