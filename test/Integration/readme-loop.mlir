// RUN: async-opt %s --async-pipeline --canonicalize --cse --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --async-pipeline | async-sim - --arg=0=1280:ramp --arg=1=128:zero --arg=2=10 | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %s --async-pipeline | async-sim - --arg=0=128:ramp --arg=1=128:zero --arg=2=1 | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %s --async-pipeline --gpux-lower-to-nvvm="chip=sm_80" | async-translate --ptx -o %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin

// The README's first example: each thread sums what its neighbors have copied.

// CHECK:         scf.for
// CHECK:           gpux.wait_group <cp_async>, 1
// CHECK-NEXT:      gpu.barrier
// CHECK-NOT:       gpu.barrier
// CHECK:           gpux.copy
// CHECK:           gpux.commit_group <cp_async>
// CHECK:           scf.yield
// CHECK:         gpux.wait_group <cp_async>, 1
// CHECK:         gpux.wait_group <cp_async>, 0

// CLEAN: clean

!Global = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

#element = affine_map<(thread, tile) -> (thread + 128 * tile)>
#reversed = affine_map<(thread) -> (127 - thread)>

gpu.module @kernels {
  gpu.func @sum(%src: !Global, %dst: !Global, %tiles: index) workgroup(%buffer: !Tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirror = affine.apply #reversed(%t)

    %sum = scf.for %tile = %c0 to %tiles step %c1 iter_args(%sum = %zero) -> (f32) {
      %from = affine.apply #element(%t, %tile)
      %copy = gpux.copy async %src[%from], %buffer[%t], 1 : !Global to !Tile

      async.await %copy
      %x = memref.load %buffer[%mirror] : !Tile
      %more = arith.addf %sum, %x : f32
      scf.yield %more : f32
    } {async.num_stages = 3}

    memref.store %sum, %dst[%t] : !Global
    gpu.return
  }
}
