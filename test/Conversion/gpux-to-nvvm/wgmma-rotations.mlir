// An accumulator in flight that takes the place of another one at the end of an iteration has to be moved, for which ptxas waits: a
// remark. One that stays in its place, or is complete, is left alone.
//
// RUN: async-opt %s --gpux-to-nvvm=chip=sm_90a --verify-diagnostics -o /dev/null

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @m {
  gpu.func @take_turns(%n: index) kernel {
    %a = ub.poison : !a
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %c) -> (!acc, !acc) {
      // expected-remark @+1 {{is in flight where it takes the place of another accumulator, from 0 to 1 of those values that the loop carries: ptxas waits for it and moves its registers}}
      %d = gpux.wgmma %a, %a, %x : !a, !a, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %y, %d : !acc, !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

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
}
