// Where ptxas has multiplications wait for each other, which PTX does not ask for, a remark says so. Where it does not, there is none:
// test/Integration/wgmma-serialization.mlir has what it says of these.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm=chip=sm_90a --verify-diagnostics -o /dev/null

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  // The wait comes right after the branch that multiplies.
  gpu.func @awaited_after_the_branch(%p: i1) kernel {
    %m = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r = scf.if %p -> !acc {
      %d = gpux.wgmma %m, %m, %c : !m, !m, !acc
      gpux.commit_group <wgmma>
      scf.yield %d : !acc
    } else {
      scf.yield %c : !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // Other multiplications come before it.
  gpu.func @in_flight_after_the_branch(%p: i1) kernel {
    %m = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r = scf.if %p -> !acc {
      // expected-note @+2 {{await it in the branch, or right after it}}
      // expected-remark @+1 {{is in flight where the branch ends that it is in: ptxas adds a fence there, or serializes multiplications}}
      %d = gpux.wgmma %m, %m, %c : !m, !m, !acc
      gpux.commit_group <wgmma>
      scf.yield %d : !acc
    } else {
      scf.yield %c : !acc
    }
    %e = gpux.wgmma %m, %m, %r : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // Accumulators of the loop take turns after the wait: ptxas moves them before it.
  gpu.func @branch_in_rotation(%p: i1, %n: index) kernel {
    %m = ub.poison : !m
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %y = %d) -> (!acc, !acc) {
      %next = scf.if %p -> !acc {
        // expected-note @+2 {{await it in the branch, or right after it}}
        // expected-remark @+1 {{is in flight where the branch ends}}
        %e = gpux.wgmma %m, %m, %x : !m, !m, !acc
        gpux.commit_group <wgmma>
        scf.yield %e : !acc
      } else {
        scf.yield %x : !acc
      }
      gpux.wait_group <wgmma>, 0
      scf.yield %y, %next : !acc, !acc
    }
    gpu.return
  }

  // Blocks rotate two accumulators.
  gpu.func @blocks(%p: i1) kernel {
    %m = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma.init.accumulator -> !acc
    cf.br ^loop(%c, %d : !acc, !acc)
  ^loop(%x: !acc, %y: !acc):
    // expected-remark @+1 {{is in flight where a block hands an accumulator on in another place: ptxas waits for it and moves its registers}}
    %e = gpux.wgmma %m, %m, %x : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 1
    cf.cond_br %p, ^loop(%y, %e : !acc, !acc), ^end
  ^end:
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // A call in the loop, after the wait, and one in straight code: after the wait, it does no harm.
  gpu.func @calls(%p: i1, %n: index) kernel {
    %m = ub.poison : !m
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{is serialized by ptxas: 'gpu.printf' may call a function where the multiplication is in flight, or in its loop}}
    %d = gpux.wgmma %m, %m, %c : !m, !m, !acc
    gpux.commit_group <wgmma>
    // expected-note @+1 {{the call: leave it out, or put it where nothing is multiplied}}
    gpu.printf "in flight"
    gpux.wait_group <wgmma>, 0
    gpu.printf "complete"
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> (!acc) {
      // expected-note @+1 {{the call}}
      cf.assert %p, "in the loop"
      // expected-remark @+1 {{is serialized by ptxas: 'cf.assert' may call a function}}
      %e = gpux.wgmma %m, %m, %x : !m, !m, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 0
      scf.yield %e : !acc
    }
    gpu.return
  }
}

// -----

!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  gpu.func @sum_of_another() kernel {
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !a
    %d = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %s = gpux.wgmma %b, %b, %c : !b, !b, !a
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    // expected-note @+2 {{read it with gpux.read_fragment, and write the numbers with gpux.write_fragment}}
    // expected-remark @+1 {{multiplies the sum of another multiplication: ptxas serializes them}}
    %e = gpux.wgmma %s, %b, %d : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  gpu.func @selected(%p: i1) kernel {
    %m = ub.poison : !m
    %o = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-note @+2 {{select the memref, and make the descriptor of that}}
    // expected-error @+1 {{'arith.select' op selects a descriptor of a matrix, which is not lowered}}
    %s = arith.select %p, %m, %o : !m
    %d = gpux.wgmma %s, %m, %c : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!numbers = vector<1x8x2x2xf32>
gpu.module @m {
  // A loop in the branch leaves something in flight.
  gpu.func @in_flight_after_a_loop(%p: i1, %n: index) kernel {
    %m = ub.poison : !m
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %r = scf.if %p -> !acc {
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> !acc {
        // expected-note @+2 {{await it in the branch, or right after it}}
        // expected-remark @+1 {{is in flight where the branch ends that it is in}}
        %d = gpux.wgmma %m, %m, %x : !m, !m, !acc
        gpux.commit_group <wgmma>
        gpux.wait_group <wgmma>, 1
        scf.yield %d : !acc
      }
      scf.yield %s : !acc
    } else {
      scf.yield %c : !acc
    }
    %e = gpux.wgmma %m, %m, %c : !m, !m, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // The sum of the iteration before is read, while that of this one is in flight.
  gpu.func @read_in_the_next_iteration(%n: index) kernel {
    %m = ub.poison : !m
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %numbers = arith.constant dense<0.0> : !numbers
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %so_far = %numbers) -> (!acc, !numbers) {
      %new = nvgpu.warpgroup.mma.init.accumulator -> !acc
      %d = gpux.wgmma %m, %m, %new : !m, !m, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      // expected-note @+2 {{wait for all before, or read it in the iteration that multiplies}}
      // expected-remark @+1 {{reads a sum that was in flight where the iteration began, and something else still is: ptxas serializes multiplications}}
      %read = gpux.read_fragment %x : !acc to !numbers
      %sum = arith.addf %read, %so_far : !numbers
      scf.yield %d, %sum : !acc, !numbers
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // Nothing is in flight where it is read.
  gpu.func @read_once_all_is_complete(%n: index) kernel {
    %m = ub.poison : !m
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %numbers = arith.constant dense<0.0> : !numbers
    %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c, %so_far = %numbers) -> (!acc, !numbers) {
      gpux.wait_group <wgmma>, 0
      %read = gpux.read_fragment %x : !acc to !numbers
      %sum = arith.addf %read, %so_far : !numbers
      %new = nvgpu.warpgroup.mma.init.accumulator -> !acc
      %d = gpux.wgmma %m, %m, %new : !m, !m, !acc
      gpux.commit_group <wgmma>
      scf.yield %d, %sum : !acc, !numbers
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  // The counts that somebody wrote are by a part of the warpgroup.
  gpu.func @divergent() kernel {
    %m = ub.poison : !m
    // expected-note @+1 {{this differs between threads}}
    %thread = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %m, %m, %c : !m, !m, !acc
    %first = arith.cmpi ult, %thread, %c1 : index
    // expected-note @+1 {{threads diverge here}}
    scf.if %first {
      // expected-error @+1 {{'gpux.commit_group' op has to be executed by all threads of the warpgroup, but the 'scf.if' around it depends on 'gpu.thread_id', which differs between threads}}
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 0
    }
    gpu.return
  }
}
