// In a dimension of a block that has one thread, all threads have the same number: a condition on it keeps them together.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-groups

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!matrix = !nvgpu.warpgroup.descriptor<tensor = !tile>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  gpu.func @one_in_y(%a: !matrix) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %y = gpu.thread_id y
    %z = nvvm.read.ptx.sreg.tid.z : i32
    %zi = arith.index_cast %z : i32 to index
    %is_first = arith.cmpi eq, %y, %zi : index
    scf.if %is_first {
      %sum, %t = gpux.wgmma async %a, %a, %zero : !matrix, !matrix, !acc
      async.await %t
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!matrix = !nvgpu.warpgroup.descriptor<tensor = !tile>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  gpu.func @two_in_y(%a: !matrix) kernel attributes {known_block_size = array<i32: 64, 2, 1>} {
    %c0 = arith.constant 0 : index
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-note @+1 {{this differs between threads}}
    %y = gpu.thread_id y
    %is_first = arith.cmpi eq, %y, %c0 : index
    // expected-note @+1 {{threads diverge here}}
    scf.if %is_first {
      // expected-error @+1 {{has to be executed by all threads of the warpgroup}}
      %sum, %t = gpux.wgmma async %a, %a, %zero : !matrix, !matrix, !acc
      async.await %t
    }
    gpu.return
  }
}
