// The examples for sm_90 under the adversary, in token form and lowered: no race, no fault of an mbarrier, and the very
// numbers that the sequential kernels below compute. No size divides, so that tiles reach out of the tensors.
//
// RUN: async-sim %s --kernel=copy_and_sum --arg 0=100x132:random --arg 1=100x132:zero --arg 2=2x132:zero --out 1=%t.y.npy --out 2=%t.sums.npy
// RUN: async-sim %S/../../examples/tma_reduction.mlir --grid=3,2 --arg 0=100x132:random --arg 1=100x132:zero --arg 2=2x132:zero --out 1=%t.y1.npy --out 2=%t.sums1.npy | FileCheck %s
// RUN: cmp %t.y.npy %t.y1.npy
// RUN: cmp %t.sums.npy %t.sums1.npy
// RUN: async-opt %S/../../examples/tma_reduction.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.reduction.mlir
// RUN: async-sim %t.reduction.mlir --refines=%S/../../examples/tma_reduction.mlir --grid=3,2 --arg 0=100x132:random --arg 1=100x132:zero --arg 2=2x132:zero | FileCheck %s
// RUN: async-sim %t.reduction.mlir --schedule=random --runs=3 --grid=3,2 --arg 0=100x132:random --arg 1=100x132:zero --arg 2=2x132:zero --out 1=%t.y2.npy --out 2=%t.sums2.npy | FileCheck %s
// RUN: cmp %t.y.npy %t.y2.npy
// RUN: cmp %t.sums.npy %t.sums2.npy
// RUN: async-opt %S/../../examples/tma_reduction.mlir --gpux-tokens-to-mbarriers=war=mbarrier --gpux-tokens-to-groups -o %t.reduction.mbarrier.mlir
// RUN: async-sim %t.reduction.mbarrier.mlir --schedule=random --runs=3 --grid=3,2 --arg 0=100x132:random --arg 1=100x132:zero --arg 2=2x132:zero --out 1=%t.y3.npy --out 2=%t.sums3.npy | FileCheck %s
// RUN: cmp %t.y.npy %t.y3.npy
// RUN: cmp %t.sums.npy %t.sums3.npy
// A band that has no tile at all, and a tensor smaller than one tile.
// RUN: async-sim %t.reduction.mlir --grid=1,3 --arg 0=2x4:ramp --arg 1=2x4:zero --arg 2=3x4:zero --print | FileCheck %s --check-prefix=SMALL
//
// RUN: async-sim %s --kernel=multiply_add --arg 0=100x100:random --arg 1=100x100:random --arg 2=100x100:random --arg 3=100x100:zero --out 3=%t.out.npy
// RUN: async-sim %S/../../examples/mixed_pointwise.mlir --grid=2,2 --arg 0=100x100:random --arg 1=100x100:random --arg 2=100x100:random --arg 3=100x100:zero --out 3=%t.out1.npy | FileCheck %s
// RUN: cmp %t.out.npy %t.out1.npy
// RUN: async-opt %S/../../examples/mixed_pointwise.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.pointwise.mlir
// RUN: async-sim %t.pointwise.mlir --refines=%S/../../examples/mixed_pointwise.mlir --grid=2,2 --arg 0=100x100:random --arg 1=100x100:random --arg 2=100x100:random --arg 3=100x100:zero | FileCheck %s
// RUN: async-sim %t.pointwise.mlir --schedule=random --runs=3 --grid=2,2 --arg 0=100x100:random --arg 1=100x100:random --arg 2=100x100:random --arg 3=100x100:zero --out 3=%t.out2.npy | FileCheck %s
// RUN: cmp %t.out.npy %t.out2.npy
// RUN: async-opt %S/../../examples/mixed_pointwise.mlir --gpux-tokens-to-mbarriers=war=mbarrier --gpux-tokens-to-groups -o %t.pointwise.mbarrier.mlir
// RUN: async-sim %t.pointwise.mbarrier.mlir --schedule=random --runs=3 --grid=2,2 --arg 0=100x100:random --arg 1=100x100:random --arg 2=100x100:random --arg 3=100x100:zero --out 3=%t.out3.npy | FileCheck %s
// RUN: cmp %t.out.npy %t.out3.npy
//
// RUN: async-sim %s --kernel=gemm_f16_sm90 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --out 2=%t.c.npy
// RUN: async-sim %S/../../bench/gpu/reference/gemm_sm90.mlir --dynamic-workgroup=65536 --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 --out 2=%t.c1.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c1.npy
// RUN: async-opt %S/../../bench/gpu/reference/gemm_sm90.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.gemm.mlir
// RUN: async-sim %t.gemm.mlir --refines=%S/../../bench/gpu/reference/gemm_sm90.mlir --dynamic-workgroup=65536 --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 | FileCheck %s
// RUN: async-sim %t.gemm.mlir --schedule=random --runs=3 --dynamic-workgroup=65536 --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 --out 2=%t.c2.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c2.npy
// RUN: async-opt %S/../../bench/gpu/reference/gemm_sm90.mlir --gpux-tokens-to-mbarriers=war=mbarrier --gpux-tokens-to-groups -o %t.gemm.mbarrier.mlir
// RUN: async-sim %t.gemm.mbarrier.mlir --schedule=random --runs=3 --dynamic-workgroup=65536 --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 --out 2=%t.c3.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c3.npy
// The plain loop, as it is and pipelined; and with too few iterations for a pipeline.
// RUN: async-opt %S/../../examples/gemm_sm90.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(affine-loop-unroll{unroll-factor=-1 unroll-full-threshold=16},lower-affine,canonicalize)))' -o %t.plain.mlir
// RUN: async-sim %t.plain.mlir --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 --out 2=%t.c4.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c4.npy
// RUN: async-opt %t.plain.mlir --async-pipeline="short-trips=branch insert-barriers=false" --gpux-pack-workgroup-memory --gpux-insert-barriers -o %t.pipelined.mlir 2>/dev/null
// RUN: async-sim %t.pipelined.mlir --dynamic-workgroup=65536 --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 --out 2=%t.c5.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c5.npy
// RUN: async-opt %t.pipelined.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.pipelined.lowered.mlir
// RUN: async-sim %t.pipelined.lowered.mlir --schedule=random --runs=3 --dynamic-workgroup=65536 --grid=1,2,2 --arg 0=136x168:random --arg 1=168x136:random --arg 2=136x136:zero --arg 3=168 --out 2=%t.c6.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c6.npy
// RUN: async-sim %t.pipelined.lowered.mlir --dynamic-workgroup=65536 --arg 0=128x40:random --arg 1=40x128:random --arg 2=128x128:zero --arg 3=40 --out 2=%t.short.npy | FileCheck %s
// RUN: async-sim %S/../../bench/gpu/reference/gemm_sm90.mlir --dynamic-workgroup=65536 --arg 0=128x40:random --arg 1=40x128:random --arg 2=128x128:zero --arg 3=40 --out 2=%t.short0.npy | FileCheck %s
// RUN: cmp %t.short.npy %t.short0.npy

// CHECK-NOT: {{error|warning|note}}
// CHECK: {{copy_and_sum|multiply_add|gemm_f16_sm90}}: clean

// SMALL: copy_and_sum: clean
// SMALL: argument 1: 0 1 2 3 4 5 6 7
// SMALL: argument 2: 4 6 8 10 0 0 0 0 0 0 0 0

#tile = affine_map<(i) -> (i floordiv 32)>

gpu.module @sequential {
  // Band b has the tiles of 32 rows whose numbers are b more than a multiple of the number of bands.
  gpu.func @copy_and_sum(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %sums: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %x, %c0 : memref<?x?xf32>
    %columns = memref.dim %x, %c1 : memref<?x?xf32>
    %bands = memref.dim %sums, %c0 : memref<?x?xf32>
    scf.for %i = %c0 to %rows step %c1 {
      %tile = affine.apply #tile(%i)
      %band = arith.remui %tile, %bands : index
      scf.for %j = %c0 to %columns step %c1 {
        %v = memref.load %x[%i, %j] : memref<?x?xf32>
        memref.store %v, %y[%i, %j] : memref<?x?xf32>
        %sum = memref.load %sums[%band, %j] : memref<?x?xf32>
        %more = arith.addf %sum, %v : f32
        memref.store %more, %sums[%band, %j] : memref<?x?xf32>
      }
    }
    gpu.return
  }

  gpu.func @multiply_add(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %a, %c0 : memref<?x?xf32>
    %columns = memref.dim %a, %c1 : memref<?x?xf32>
    scf.for %i = %c0 to %rows step %c1 {
      scf.for %j = %c0 to %columns step %c1 {
        %va = memref.load %a[%i, %j] : memref<?x?xf32>
        %vb = memref.load %b[%i, %j] : memref<?x?xf32>
        %vc = memref.load %c[%i, %j] : memref<?x?xf32>
        %product = arith.mulf %va, %vb : f32
        %sum = arith.addf %product, %vc : f32
        memref.store %sum, %out[%i, %j] : memref<?x?xf32>
      }
    }
    gpu.return
  }

  gpu.func @gemm_f16_sm90(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %rows = memref.dim %a, %c0 : memref<?x?xf16>
    %depth = memref.dim %a, %c1 : memref<?x?xf16>
    %columns = memref.dim %b, %c1 : memref<?x?xf16>
    scf.for %i = %c0 to %rows step %c1 {
      scf.for %j = %c0 to %columns step %c8 {
        %sum = scf.for %k = %c0 to %depth step %c1 iter_args(%so_far = %zero) -> vector<8xf32> {
          %va = memref.load %a[%i, %k] : memref<?x?xf16>
          %row = vector.broadcast %va : f16 to vector<8xf16>
          %vb = vector.load %b[%k, %j] : memref<?x?xf16>, vector<8xf16>
          %wa = arith.extf %row : vector<8xf16> to vector<8xf32>
          %wb = arith.extf %vb : vector<8xf16> to vector<8xf32>
          %product = arith.mulf %wa, %wb : vector<8xf32>
          %more = arith.addf %so_far, %product : vector<8xf32>
          scf.yield %more : vector<8xf32>
        }
        %narrow = arith.truncf %sum : vector<8xf32> to vector<8xf16>
        vector.store %narrow, %c[%i, %j] : memref<?x?xf16>, vector<8xf16>
      }
    }
    gpu.return
  }
}
