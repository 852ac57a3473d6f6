// The GEMM that multiplies by wgmma under the adversary: as it is written, pipelined, and lowered. No race, no fault of an mbarrier, and
// the very numbers that the sequential kernel below computes. No size divides, so that tiles reach out of the tensors.
//
// RUN: async-sim %s --kernel=gemm_wgmma --budget=100000000 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --out 2=%t.c.npy
// RUN: async-sim %S/../../examples/gemm_wgmma.mlir --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c1.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c1.npy
//
// RUN: async-opt %S/../../examples/gemm_wgmma.mlir --async-pipeline="chip=sm_90a short-trips=branch insert-barriers=false" --gpux-pack-workgroup-memory --gpux-insert-barriers -o %t.pipelined.mlir 2>/dev/null
// RUN: async-sim %t.pipelined.mlir --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c2.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c2.npy
// RUN: async-opt %t.pipelined.mlir --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --refines=%t.pipelined.mlir --dynamic-workgroup=196608 --arg 0=128x328:random --arg 1=256x328:random --arg 2=128x256:zero --arg 3=328 | FileCheck %s
// RUN: async-sim %t.counted.mlir --schedule=random --runs=3 --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c3.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c3.npy
// RUN: async-opt %S/../../examples/gemm_wgmma.mlir --async-pipeline="chip=sm_90a short-trips=branch computed-slots insert-barriers=false" --gpux-pack-workgroup-memory --gpux-insert-barriers -o %t.computed.mlir 2>/dev/null
// RUN: async-opt %t.computed.mlir --gpux-tokens-to-mbarriers="war=mbarrier round-rings" --gpux-tokens-to-groups --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --schedule=random --runs=3 --dynamic-workgroup=196608 --grid=2,2 --arg 0=132x328:random --arg 1=260x328:random --arg 2=132x260:zero --arg 3=328 --out 2=%t.c4.npy | FileCheck %s
// RUN: cmp %t.c.npy %t.c4.npy

// CHECK-NOT: {{error|warning|note}}
// CHECK: gemm_wgmma: clean

// Sums of random numbers, which are multiples of 1/8, are the same in any order.
gpu.module @sequential {
  gpu.func @gemm_wgmma(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %rows = memref.dim %a, %c0 : memref<?x?xf16>
    %depth = memref.dim %a, %c1 : memref<?x?xf16>
    %columns = memref.dim %b, %c0 : memref<?x?xf16>
    scf.for %i = %c0 to %rows step %c1 {
      scf.for %j = %c0 to %columns step %c1 {
        %sums = scf.for %k = %c0 to %depth step %c8 iter_args(%so_far = %zero) -> vector<8xf32> {
          %va = vector.load %a[%i, %k] : memref<?x?xf16>, vector<8xf16>
          %vb = vector.load %b[%j, %k] : memref<?x?xf16>, vector<8xf16>
          %wa = arith.extf %va : vector<8xf16> to vector<8xf32>
          %wb = arith.extf %vb : vector<8xf16> to vector<8xf32>
          %product = arith.mulf %wa, %wb : vector<8xf32>
          %more = arith.addf %so_far, %product : vector<8xf32>
          scf.yield %more : vector<8xf32>
        }
        %sum = vector.reduction <add>, %sums : vector<8xf32> into f32
        memref.store %sum, %c[%i, %j] : memref<?x?xf32>
      }
    }
    gpu.return
  }
}
