// gpux.wgmma becomes instructions of 64 rows and 32 bytes of K, with a fence before the first of a row of them, and accumulators
// become structs.
//
// RUN: async-opt %s --split-input-file --gpux-to-nvvm=chip=sm_90a --verify-diagnostics | FileCheck %s

!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

gpu.module @m {
  // K goes on within the rows of A, by 2 units of 16 bytes, and with 16 more rows of B, by 128 units. The second block of rows of A
  // begins 512 units further on.
  // CHECK-LABEL: gpu.func @two_blocks
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-DAG: %[[A:.*]] = builtin.unrealized_conversion_cast {{.*}}memref<128x64xf16, 3>> to i64
  // CHECK-DAG: %[[B:.*]] = builtin.unrealized_conversion_cast {{.*}}memref<64x128xf16, 3>> to i64
  // Nothing is added to zeros.
  // CHECK: %[[NONE:.*]] = llvm.mlir.undef
  // CHECK: %[[SUM0:.*]] = nvvm.wgmma.mma_async %[[A]], %[[B]], %[[NONE]], <m = 64, n = 128, k = 16>, D[<f32>, <zero>], A[<f16>, <one>, <row>], B[<f16>, <one>, <row>]
  // CHECK: %[[STEP_A:.*]] = arith.constant 2 : i64
  // CHECK: %[[A1:.*]] = arith.addi %[[A]], %[[STEP_A]]
  // CHECK: %[[STEP_B:.*]] = arith.constant 128 : i64
  // CHECK: %[[B1:.*]] = arith.addi %[[B]], %[[STEP_B]]
  // CHECK: nvvm.wgmma.mma_async %[[A1]], %[[B1]], %[[SUM0]], <m = 64, n = 128, k = 16>, D[<f32>, <one>]
  // CHECK-COUNT-2: nvvm.wgmma.mma_async
  // CHECK: llvm.mlir.undef
  // CHECK: %[[BLOCK:.*]] = arith.constant 512 : i64
  // CHECK: %[[A4:.*]] = arith.addi %[[A]], %[[BLOCK]]
  // CHECK: nvvm.wgmma.mma_async %[[A4]], %[[B]], {{.*}}D[<f32>, <zero>]
  // CHECK-COUNT-3: nvvm.wgmma.mma_async
  // CHECK-NOT: nvvm.wgmma
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // What reads the accumulator takes it from an asm that stands after the wait.
  // CHECK: llvm.inline_asm has_side_effects "", "=f,=f,{{.*}},=f,0,1,{{.*}},62,63"
  // CHECK: llvm.inline_asm has_side_effects ""
  // CHECK: %[[READ:.*]] = builtin.unrealized_conversion_cast {{.*}} to !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
  // CHECK: nvgpu.warpgroup.mma.store %[[READ]]
  gpu.func @two_blocks(%out: memref<128x128xf32>) kernel {
    %a = ub.poison : !a
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %b, %c : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<128x128xf32>
    gpu.return
  }

  // A choice between accumulators reads them: it must not move above the wait.
  // CHECK-LABEL: gpu.func @chosen
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-COUNT-4: llvm.inline_asm has_side_effects ""
  // CHECK: arith.select
  // CHECK-COUNT-2: llvm.inline_asm has_side_effects ""
  // CHECK: nvgpu.warpgroup.mma.store
  gpu.func @chosen(%p: i1, %out: memref<128x128xf32>) kernel {
    %a = ub.poison : !a
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %b, %c : !a, !b, !acc
    %e = gpux.wgmma %a, %b, %c : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    %f = arith.select %p, %d, %e : !acc
    nvgpu.warpgroup.mma.store %f, %out : !acc to memref<128x128xf32>
    gpu.return
  }

  // Multiplications right after each other have one fence; the body of a loop has its own, and so has what adds to an accumulator
  // that was read.
  // CHECK-LABEL: gpu.func @fences
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (!llvm.struct<(struct<(
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: scf.yield
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: nvgpu.warpgroup.mma.store
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-NOT: nvvm.wgmma.fence.aligned
  // CHECK: gpu.return
  gpu.func @fences(%n: index, %out: memref<128x128xf32>) kernel {
    %a = ub.poison : !a
    %b = ub.poison : !b
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %b, %c : !a, !b, !acc
    %e = gpux.wgmma %a, %b, %d : !a, !b, !acc
    gpux.commit_group <wgmma>
    %f = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %e) -> !acc {
      %next = gpux.wgmma %a, %b, %sum : !a, !b, !acc
      gpux.commit_group <wgmma>
      scf.yield %next : !acc
    }
    %g = gpux.wgmma %a, %b, %f : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    nvgpu.warpgroup.mma.store %g, %out : !acc to memref<128x128xf32>
    %h = gpux.wgmma %a, %b, %g : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

// The other types and layouts: what PTX calls row and column is where K is contiguous.
!f8a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E4M3FN, 3>>
!f8b = !nvgpu.warpgroup.descriptor<tensor = memref<8x128xf8E5M2, 3>>
!tf = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf32, 3>>
!tfb = !nvgpu.warpgroup.descriptor<tensor = memref<8x32xf32, 3>>
!bf = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
!square = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

gpu.module @types {
  // CHECK-LABEL: gpu.func @types
  // CHECK-COUNT-4: <m = 64, n = 8, k = 32>, D[<f32>, <{{one|zero}}>], A[<e4m3>, <one>, <row>], B[<e5m2>, <one>, <col>]
  // An instruction of another shape adds to the same registers.
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK-COUNT-4: <m = 64, n = 8, k = 8>, D[<f32>, <one>], A[<tf32>, <one>, <row>], B[<tf32>, <one>, <col>]
  // CHECK-COUNT-2: <m = 64, n = 64, k = 16>, D[<f32>, <{{one|zero}}>], A[<bf16>, <one>, <col>], B[<bf16>, <one>, <row>]
  // CHECK-NOT: nvvm.wgmma.mma_async
  gpu.func @types() kernel {
    %f8a = ub.poison : !f8a
    %f8b = ub.poison : !f8b
    %tf = ub.poison : !tf
    %tfb = ub.poison : !tfb
    %bf = ub.poison : !bf
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %s = nvgpu.warpgroup.mma.init.accumulator -> !square
    %0 = gpux.wgmma %f8a, %f8b, %c {transpose_b} : !f8a, !f8b, !acc
    %1 = gpux.wgmma %tf, %tfb, %0 {transpose_b} : !tf, !tfb, !acc
    %2 = gpux.wgmma %bf, %bf, %s {transpose_a} : !bf, !bf, !square
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @token {
  gpu.func @token() kernel {
    %a = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-error @+2 {{'gpux.wgmma' op has a token, and the hardware has no tokens}}
    // expected-note @+1 {{run --gpux-tokens-to-groups before --gpux-to-nvvm}}
    %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @handed_on {
  // expected-error @+2 {{'gpu.func' op hands an accumulator from function to function, which its registers can't follow}}
  // expected-note @+1 {{run --gpux-inline-calls first}}
  gpu.func @handed_on(%c: !acc) {
    %a = ub.poison : !m
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    gpu.return
  }
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @returned {
  gpu.func @returned() -> !acc {
    %a = ub.poison : !m
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    // expected-error @+2 {{'gpu.return' op hands an accumulator from function to function, which its registers can't follow}}
    // expected-note @+1 {{run --gpux-inline-calls first}}
    gpu.return %d : !acc
  }
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>>
gpu.module @stored_elsewhere {
  gpu.func @stored_elsewhere(%out: memref<128x64xf32>) kernel {
    %a = ub.poison : !a
    %b = ub.poison : !b
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = gpux.wgmma %a, %b, %c : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    // expected-error @+2 {{'nvgpu.warpgroup.mma.store' op stores 128x64, of which upstream puts all but the first 64 rows elsewhere}}
    // expected-note @+1 {{multiply 64 rows of A at a time}}
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<128x64xf32>
    gpu.return
  }
}
