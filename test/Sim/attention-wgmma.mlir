// examples/attention_wgmma.mlir under the adversary, in token form, counted, and with the instructions of the hardware: no race, no
// register that is used too early, and what the sequential kernel below computes. With a single tile of keys the loop is empty.
//
// RUN: async-sim %S/../../examples/attention_wgmma.mlir --grid=2 --arg 0=128x64:random --arg 1=192x64:random --arg 2=192x64:random --arg 3=128x64:zero --arg 4=192 --out 3=%t.out.npy | FileCheck %s
// RUN: async-sim %s --arg 0=random --arg 1=192x64:random --arg 2=192x64:random --arg 3=%t.out.npy | FileCheck %s --check-prefix=SAME
// RUN: async-sim %S/../../examples/attention_wgmma.mlir --grid=2 --arg 0=128x64:random --arg 1=64x64:random --arg 2=64x64:random --arg 3=128x64:zero --arg 4=64 --out 3=%t.one.npy | FileCheck %s
// RUN: async-sim %s --arg 0=random --arg 1=64x64:random --arg 2=64x64:random --arg 3=%t.one.npy | FileCheck %s --check-prefix=SAME
//
// RUN: async-opt %S/../../examples/attention_wgmma.mlir --gpux-inline-calls --gpux-tokens-to-mbarriers --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --refines=%S/../../examples/attention_wgmma.mlir --grid=2 --arg 0=128x64:random --arg 1=192x64:random --arg 2=192x64:random --arg 3=128x64:zero --arg 4=192 --out 3=%t.counted.npy | FileCheck %s
// RUN: cmp %t.out.npy %t.counted.npy
// RUN: async-opt %t.counted.mlir --gpux-to-nvvm=chip=sm_90a -o %t.nvvm.mlir
// RUN: async-sim %t.nvvm.mlir --schedule=random --runs=2 --grid=2 --arg 0=128x64:random --arg 1=192x64:random --arg 2=192x64:random --arg 3=128x64:zero --arg 4=192 --out 3=%t.nvvm.npy | FileCheck %s
// RUN: cmp %t.out.npy %t.nvvm.npy
//
// One group stays in flight while the softmax is computed. A wait that leaves one more is found.
// RUN: FileCheck %s --check-prefix=COUNTS --input-file %t.counted.mlir
// RUN: sed '/wait_group <wgmma>, 1/s/1$/2/' %t.counted.mlir | not async-sim - --grid=1 --arg 0=64x64:random --arg 1=192x64:random --arg 2=192x64:random --arg 3=64x64:zero --arg 4=192 | FileCheck %s --check-prefix=EARLY

// CHECK: attention: clean
// SAME: reference: clean

// COUNTS-LABEL: gpu.func @attention
// COUNTS: gpux.wait_group <wgmma>, 0
// COUNTS: scf.for
// COUNTS: gpux.wgmma
// COUNTS-NEXT: gpux.commit_group <wgmma>
// COUNTS: gpux.wgmma
// COUNTS-NEXT: gpux.commit_group <wgmma>
// COUNTS-NEXT: gpux.wait_group <wgmma>, 1
// COUNTS-NEXT: gpux.read_fragment
// COUNTS: gpux.wait_group <wgmma>, 0
// COUNTS-NEXT: gpux.read_fragment
// COUNTS: scf.yield
// COUNTS: gpux.wait_group <wgmma>, 0

// EARLY: error: gpux.read_fragment: uses an accumulator before the matrix multiplication that writes it has been waited for

gpu.module @sequential {
  // Of one query in eight, some numbers.
  gpu.func @reference(%Q: memref<128x64xf16>, %K: memref<?x64xf16>, %V: memref<?x64xf16>, %out: memref<128x64xf32>) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c9 = arith.constant 9 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %small = arith.constant 0.004 : f32
    %eighth = arith.constant 0.125 : f32
    %t = gpu.thread_id x
    %spread = arith.muli %t, %c9 : index
    %query = arith.remui %spread, %c128 : index
    %first = arith.remui %t, %c31 : index
    %keys = memref.dim %K, %c0 : memref<?x64xf16>
    scf.for %column = %first to %c64 step %c31 {
      %weighted, %total = scf.for %key = %c0 to %keys step %c1 iter_args(%sum = %zero, %all = %zero) -> (f32, f32) {
        %score = scf.for %d = %c0 to %c64 step %c1 iter_args(%score = %zero) -> f32 {
          %q = memref.load %Q[%query, %d] : memref<128x64xf16>
          %k = memref.load %K[%key, %d] : memref<?x64xf16>
          %q32 = arith.extf %q : f16 to f32
          %k32 = arith.extf %k : f16 to f32
          %product = arith.mulf %q32, %k32 : f32
          %more = arith.addf %score, %product : f32
          scf.yield %more : f32
        }
        %scaled = arith.mulf %score, %eighth : f32
        %weight = math.exp %scaled : f32
        %v = memref.load %V[%key, %column] : memref<?x64xf16>
        %v32 = arith.extf %v : f16 to f32
        %part = arith.mulf %weight, %v32 : f32
        %next = arith.addf %sum, %part : f32
        %weights = arith.addf %all, %weight : f32
        scf.yield %next, %weights : f32, f32
      }
      %expected = arith.divf %weighted, %total : f32
      %stored = memref.load %out[%query, %column] : memref<128x64xf32>
      %difference = arith.subf %expected, %stored : f32
      %size = math.absf %difference : f32
      %same = arith.cmpf olt, %size, %small : f32
      cf.assert %same, "another result"
    }
    gpu.return
  }
}
