// A from registers becomes inline PTX. What is written to registers is moved there, right where the program says, and a wait takes
// the registers of A.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm=chip=sm_90a --verify-diagnostics | FileCheck %s

!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
!bt = !nvgpu.warpgroup.descriptor<tensor = memref<8x64xbf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!narrow = !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>
!half = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf16>>
!q = !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xbf16>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @two_steps
  // 16 numbers in 8 registers.
  // CHECK: %[[PAIR:.*]] = vector.extract %{{.*}}[0, 0, 0] : vector<2xf16> from vector<1x4x2x2xf16>
  // CHECK: %[[SINGLE:.*]] = vector.bitcast %[[PAIR]] : vector<2xf16> to vector<1xi32>
  // CHECK: %[[BITS:.*]] = vector.to_elements %[[SINGLE]] : vector<1xi32>
  // CHECK: llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %[[BITS]] : (i32) -> i32
  // CHECK-COUNT-7: mov.b32
  // CHECK-NOT: mov.b32
  // The fence stands behind the writes.
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK: %[[B:.*]] = builtin.unrealized_conversion_cast {{.*}} to i64
  // Nothing is added to zeros; N is contiguous in B.
  // CHECK: %[[SUM:.*]] = llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0Asetp.ne.b32 p, 0, 0;\0Awgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, {{.*}}, $31}, {$64, $65, $66, $67}, $68, p, 1, 1, 1;\0A}", "=f,{{.*}},=f,0,1,{{.*}},31,r,r,r,r,l"
  // 16 more rows of B, and the next 4 registers.
  // CHECK: %[[STEP:.*]] = arith.constant 128 : i64
  // CHECK: %[[NEXT:.*]] = arith.addi %[[B]], %[[STEP]]
  // CHECK: llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0Asetp.ne.b32 p, 1, 0;{{.*}}, %[[NEXT]] :
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK: llvm.inline_asm has_side_effects "", "r,r,r,r,r,r,r,r" {{.*}} -> ()
  // CHECK: %[[READ:.*]] = llvm.inline_asm has_side_effects "", "=f,
  // CHECK: vector.from_elements {{.*}} : vector<1x8x2x2xf32>
  gpu.func @two_steps(%numbers: vector<1x4x2x2xf16>) kernel {
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %a = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
    %d = gpux.wgmma %a, %b, %c : !p, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    %read = gpux.read_fragment %d : !acc to vector<1x8x2x2xf32>
    gpu.return
  }

  // Two blocks of rows, K contiguous in B, and an accumulator that is written: 4 registers for each block.
  // CHECK-LABEL: gpu.func @two_blocks
  // CHECK-COUNT-8: "mov.b32 $0, $1;", "=f,f"
  // CHECK-COUNT-32: "mov.b32 $0, $1;", "=r,r"
  // CHECK-NOT: mov.b32
  // CHECK-COUNT-8: setp.ne.b32 p, 1, 0;\0Awgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0;
  // CHECK: wait.group.sync.aligned 0
  // CHECK-COUNT-2: has_side_effects "", "r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r"
  gpu.func @two_blocks(%numbers: vector<2x8x2x2xbf16>, %sum: vector<2x1x2x2xf32>) kernel {
    %b = ub.poison : !bt
    %c = gpux.write_fragment %sum : vector<2x1x2x2xf32> to !narrow
    %a = gpux.write_fragment %numbers : vector<2x8x2x2xbf16> to !q
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !q, !bt, !narrow
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    %read = gpux.read_fragment %d : !narrow to vector<2x1x2x2xf32>
    gpu.return
  }

  // Zeros that are only added to are not written. Sums of f16 are in half as many registers.
  // CHECK-LABEL: gpu.func @zeros
  // CHECK-COUNT-8: mov.b32
  // CHECK-NOT: mov.b32
  // CHECK: setp.ne.b32 p, 0, 0;\0Awgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {$0, {{.*}}, $15}, {$32, $33, $34, $35}, $36, p, 1, 1, 1;\0A}", "=r,
  // CHECK: has_side_effects "", "=r,{{.*}},15"
  gpu.func @zeros(%numbers: vector<1x4x2x2xf16>) kernel {
    %b = ub.poison : !b
    %zeros = arith.constant dense<0.0> : vector<1x8x2x2xf16>
    %c = gpux.write_fragment %zeros : vector<1x8x2x2xf16> to !half
    %a = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
    %d = gpux.wgmma %a, %b, %c : !p, !b, !half
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    %read = gpux.read_fragment %d : !half to vector<1x8x2x2xf16>
    gpu.return
  }

  // Upstream's zeros, which it lowers for f32 alone: here they are written.
  // CHECK-LABEL: gpu.func @zeros_of_upstream
  // CHECK-NOT: mma.init.accumulator
  // CHECK-COUNT-16: "mov.b32 $0, $1;", "=r,r"
  // CHECK: scf.for
  gpu.func @zeros_of_upstream(%numbers: vector<1x4x2x2xf16>, %n: index) kernel {
    %b = ub.poison : !b
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !half
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> !half {
      %a = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
      %d = gpux.wgmma %a, %b, %sum : !p, !b, !half
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 0
      scf.yield %d : !half
    }
    gpu.return
  }

  // Only the wait that completes a multiplication takes its registers.
  // CHECK-LABEL: gpu.func @wait_of_its_own
  // CHECK: wait.group.sync.aligned 1
  // CHECK: has_side_effects "", "r,r,r,r,r,r,r,r"
  // CHECK-NOT: has_side_effects "", "r,
  // CHECK: wait.group.sync.aligned 0
  // CHECK: has_side_effects "", "r,r,r,r,r,r,r,r"
  gpu.func @wait_of_its_own(%numbers: vector<1x4x2x2xf16>, %others: vector<1x4x2x2xf16>) kernel {
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %a0 = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
    %a1 = gpux.write_fragment %others : vector<1x4x2x2xf16> to !p
    %d = gpux.wgmma %a0, %b, %c : !p, !b, !acc
    gpux.commit_group <wgmma>
    %e = gpux.wgmma %a1, %b, %c : !p, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 1
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

// Integers: of a sign, or none.
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<24x128xui8, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x24xi32>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @integers
  // CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 24, k = 32>, D[<s32>, <one>], A[<s8>, <one>, <row>], B[<u8>, <one>, <col>]
  // CHECK-COUNT-3: nvvm.wgmma.mma_async
  // CHECK: has_side_effects "", "=r,{{.*}},11"
  // CHECK: vector.from_elements {{.*}} : vector<1x3x2x2xi32>
  gpu.func @integers(%sum: vector<1x3x2x2xi32>) kernel {
    %a = ub.poison : !a
    %b = ub.poison : !b
    %c = gpux.write_fragment %sum : vector<1x3x2x2xi32> to !acc
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    %read = gpux.read_fragment %d : !acc to vector<1x3x2x2xi32>
    gpu.return
  }
}

// -----

// What a loop hands on is written at the end of each iteration, while the multiplication still reads it.
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf16>>
gpu.module @m {
  gpu.func @handed_on(%numbers: vector<1x4x2x2xf16>, %n: index) kernel {
    %b = ub.poison : !b
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %a = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
    %e, %f = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c, %p = %a) -> (!acc, !p) {
      // expected-note @+2 {{await it in the block that it is in, or write the fragment there}}
      // expected-error @+1 {{'gpux.wgmma' op reads A from registers that a loop or branch hands on, and is not known to be complete at the end of this block: they would be written while it reads}}
      %d = gpux.wgmma %p, %b, %sum : !p, !b, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      %next = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
      scf.yield %d, %next : !acc, !p
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

// What an iteration writes, the multiplication of the one before still reads: at most one group is in flight after the wait, but that one
// is. Where the wait is before the write, as in the second loop, it is complete.
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf16>>
gpu.module @m {
  gpu.func @written_again(%numbers: vector<1x4x2x2xf16>, %n: index) kernel {
    %b = ub.poison : !b
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %before = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> (!acc) {
      gpux.wait_group <wgmma>, 0
      %p = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
      %d = gpux.wgmma %p, %b, %sum : !p, !b, !acc
      gpux.commit_group <wgmma>
      scf.yield %d : !acc
    }
    gpux.wait_group <wgmma>, 0
    %e = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> (!acc) {
      %p = gpux.write_fragment %numbers : vector<1x4x2x2xf16> to !p
      // expected-note @+2 {{await it before the fragment is written again}}
      // expected-error @+1 {{'gpux.wgmma' op reads A from registers that the next iteration writes, where it is not complete}}
      %d = gpux.wgmma %p, %b, %sum : !p, !b, !acc
      gpux.commit_group <wgmma>
      gpux.wait_group <wgmma>, 1
      scf.yield %d : !acc
    }
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

// A of tf32: each number is in a register of bits, and no operand says how B lies.
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x32xf32, 3>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @tf32
  // CHECK: %[[ROW:.*]] = vector.extract %{{.*}}[0, 0, 0] : vector<1xf32> from vector<1x8x2x1xf32>
  // The row 8 below comes next.
  // CHECK-NEXT: %[[BELOW:.*]] = vector.extract %{{.*}}[0, 0, 1]
  // CHECK-NEXT: %[[RIGHT:.*]] = vector.extract %{{.*}}[0, 1, 0]
  // CHECK: %[[SINGLE:.*]] = vector.bitcast %[[ROW]] : vector<1xf32> to vector<1xi32>
  // CHECK-NEXT: %[[BITS:.*]] = vector.to_elements %[[SINGLE]] : vector<1xi32>
  // CHECK-NEXT: llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %[[BITS]] : (i32) -> i32
  // CHECK: vector.bitcast %[[BELOW]]
  // CHECK: "mov.b32
  // CHECK: vector.bitcast %[[RIGHT]]
  // CHECK-COUNT-14: "mov.b32
  // CHECK-NOT: "mov.b32
  // CHECK: setp.ne.b32 p, 0, 0;\0Awgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1;\0A}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l"
  // 32 bytes further in B.
  // CHECK: %[[STEP:.*]] = arith.constant 2 : i64
  // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %[[STEP]]
  // CHECK: setp.ne.b32 p, 1, 0;{{.*}}, %[[NEXT]] :
  // CHECK-COUNT-2: setp.ne.b32 p, 1, 0;
  // CHECK-NOT: setp
  // CHECK: wait.group.sync.aligned 0
  // CHECK: has_side_effects "", "r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r"
  // What reads A gets its numbers.
  // CHECK: has_side_effects "", "=r,{{.*}},15"
  // CHECK: %[[READ:.*]] = vector.from_elements %{{.*}} : vector<1xi32>
  // CHECK: vector.bitcast %[[READ]] : vector<1xi32> to vector<1xf32>
  // CHECK: vector.from_elements {{.*}} : vector<1x8x2x1xf32>
  gpu.func @tf32(%numbers: vector<1x8x2x1xf32>) kernel {
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %a = gpux.write_fragment %numbers : vector<1x8x2x1xf32> to !p
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    %read = gpux.read_fragment %a : !p to vector<1x8x2x1xf32>
    gpu.return
  }
}

// -----

// Four floats of 8 bits are in a register. Blocks of 64 rows have registers of their own.
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xf8E5M2, 3>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf8E4M3FN>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf16>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @floats_of_8_bits
  // CHECK: %[[ROW:.*]] = vector.extract %{{.*}}[0, 0, 0] : vector<4xf8E4M3FN> from vector<2x8x2x4xf8E4M3FN>
  // CHECK: vector.bitcast %[[ROW]] : vector<4xf8E4M3FN> to vector<1xi32>
  // CHECK-COUNT-32: "mov.b32 $0, $1;", "=r,r"
  // CHECK-NOT: "mov.b32
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2 {$0, $1}, {$4, $5, $6, $7}, $8, p, 1, 1;\0A}", "=r,=r,0,1,r,r,r,r,l"
  // CHECK-COUNT-7: wgmma.mma_async.sync.aligned.m64n8k32
  // CHECK: wait.group.sync.aligned 0
  // CHECK-COUNT-2: has_side_effects "", "r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r"
  gpu.func @floats_of_8_bits(%numbers: vector<2x8x2x4xf8E4M3FN>) kernel {
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %a = gpux.write_fragment %numbers : vector<2x8x2x4xf8E4M3FN> to !p
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

// Integers, without a sign here, are multiplied as they are: no operand could negate them.
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xi8, 3>>
!p = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xui8>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xi32>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @integers_from_registers
  // CHECK: vector.bitcast %{{.*}} : vector<4xui8> to vector<1xi32>
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p;\0A}", "=r,=r,=r,=r,0,1,2,3,r,r,r,r,l"
  gpu.func @integers_from_registers(%numbers: vector<1x8x2x4xui8>, %sum: vector<1x1x2x2xi32>) kernel {
    %b = ub.poison : !b
    %c = gpux.write_fragment %sum : vector<1x1x2x2xi32> to !acc
    %a = gpux.write_fragment %numbers : vector<1x8x2x4xui8> to !p
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }

  // Upstream's zeros as A: no constant is of integers without a sign.
  // CHECK-LABEL: gpu.func @zeros_as_a
  // CHECK: %[[ZEROS:.*]] = arith.constant dense<0> : vector<1x8x2x4xi8>
  // CHECK: vector.bitcast %[[ZEROS]] : vector<1x8x2x4xi8> to vector<1x8x2x4xui8>
  // CHECK-NOT: init.accumulator -> <fragmented = vector<64x128xui8>>
  gpu.func @zeros_as_a(%sum: vector<1x1x2x2xi32>) kernel {
    %b = ub.poison : !b
    %c = gpux.write_fragment %sum : vector<1x1x2x2xi32> to !acc
    %a = nvgpu.warpgroup.mma.init.accumulator -> !p
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !p, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

// More zeros than there are registers, beside a multiplication.
!a = !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xtf32>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<8x32xf32, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
gpu.module @m {
  gpu.func @too_many_zeros() kernel {
    %b = ub.poison : !b
    // expected-error @+1 {{'nvgpu.warpgroup.mma.init.accumulator' op has !nvgpu.warpgroup.accumulator<fragmented = vector<1024x64xtf32>>, which the registers of a warpgroup can't be, 255 of 32 bits in each thread}}
    %zeros = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<1024x64xtf32>>
    %a = nvgpu.warpgroup.mma.init.accumulator -> !a
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %b, %c {transpose_b} : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}
