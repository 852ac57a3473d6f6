// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-insert-barriers -o %t 2>/dev/null
// RUN: async-sim %t --arg=0=64 --arg=1=32x64:random --arg=2=64x8:random | FileCheck %s --check-prefix=CLEAN
// RUN: mlir-opt %s --transform-interpreter | FileCheck %s --check-prefix=PEER
// RUN: async-opt %t --nvgpu-exact-waits --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin

// A product of matrices by two warps that nobody has pipelined: three slots of each operand, and two barriers in each k-step.
// One is enough: a slot is written again three k-steps after it was read, and between them all have met.
//
// CLEAN: clean
//
// CHECK-LABEL: gpu.func @gemm
// CHECK: scf.for
// CHECK: nvgpu.device_async_wait
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
//
// Upstream's pattern knows no slots, and leaves both.
//
// PEER-LABEL: gpu.func @gemm
// PEER: scf.for
// PEER: nvgpu.device_async_wait
// PEER-NEXT: gpu.barrier
// PEER: gpu.barrier
// PEER: gpu.return

!A = memref<32x?xf16>
!B = memref<?x8xf16>
!As = memref<3x32x16xf16, #gpu.address_space<workgroup>>
!Bs = memref<3x16x8xf16, #gpu.address_space<workgroup>>

module attributes {gpu.container_module, transform.with_named_sequence} {
  gpu.module @kernels {
    gpu.func @gemm(%k: index, %a: !A, %b: !B, %c: memref<32x8xf16>) workgroup(%as: !As, %bs: !Bs) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant dense<0.0> : vector<2x2xf16>
      %t = gpu.thread_id x
      %lane = arith.remui %t, %c32 : index
      %warp = arith.divui %t, %c32 : index
      // A thread copies 8 elements of A, and 2 of B.
      %a_row = arith.divui %t, %c2 : index
      %a_half = arith.remui %t, %c2 : index
      %a_column = arith.muli %a_half, %c8 : index
      %b_row = arith.divui %t, %c4 : index
      %b_pair = arith.remui %t, %c4 : index
      %b_column = arith.muli %b_pair, %c2 : index
      // A warp has 16 rows of A.
      %rows = arith.muli %warp, %c16 : index
      %lane_row = arith.remui %lane, %c16 : index
      %row = arith.addi %rows, %lane_row : index
      %lane_half = arith.divui %lane, %c16 : index
      %column = arith.muli %lane_half, %c8 : index
      %sum = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %zero) -> (vector<2x2xf16>) {
        %tile = arith.divui %i, %c16 : index
        %slot = arith.remui %tile, %c3 : index
        %from_a = arith.addi %i, %a_column : index
        %from_b = arith.addi %i, %b_row : index
        %t0 = nvgpu.device_async_copy %a[%a_row, %from_a], %as[%slot, %a_row, %a_column], 8 : !A to !As
        %t1 = nvgpu.device_async_copy %b[%from_b, %b_column], %bs[%slot, %b_row, %b_column], 2 : !B to !Bs
        %group = nvgpu.device_async_create_group %t0, %t1
        nvgpu.device_async_wait %group
        gpu.barrier
        %x = nvgpu.ldmatrix %as[%slot, %row, %column] {numTiles = 4 : i32, transpose = false} : !As -> vector<4x2xf16>
        %y = nvgpu.ldmatrix %bs[%slot, %lane_row, %c0] {numTiles = 2 : i32, transpose = true} : !Bs -> vector<2x2xf16>
        %next = nvgpu.mma.sync(%x, %y, %acc) {mmaShape = [16, 8, 16]}
            : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
        gpu.barrier
        scf.yield %next : vector<2x2xf16>
      }
      %quad = arith.divui %lane, %c4 : index
      %of_quad = arith.remui %lane, %c4 : index
      %to = arith.muli %of_quad, %c2 : index
      %first = arith.addi %rows, %quad : index
      %second = arith.addi %first, %c8 : index
      %upper = vector.extract %sum[0] : vector<2xf16> from vector<2x2xf16>
      %lower = vector.extract %sum[1] : vector<2xf16> from vector<2x2xf16>
      vector.store %upper, %c[%first, %to] : memref<32x8xf16>, vector<2xf16>
      vector.store %lower, %c[%second, %to] : memref<32x8xf16>, vector<2xf16>
      gpu.return
    }
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["gpu.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.gpu.eliminate_barriers
    } : !transform.any_op
    transform.yield
  }
}
