// The matrix multiplication that begins as linalg.matmul: its waits and barriers, code that ptxas takes, and the product, which is that
// of the plain kernel below.
//
// RUN: async-opt %S/../../examples/linalg_matmul.mlir --transform-interpreter --gpu-kernel-outlining --transform-interpreter=entry-point=pipeline -o %t.tokens.mlir
// RUN: async-opt %t.tokens.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -v -arch=sm_80 %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=NO-SPILLS
//
// CHECK-LABEL: .entry matmul_kernel(
// CHECK: cp.async.cg.shared.global {{.*}}, 16;
// CHECK-NOT: bar.sync
// CHECK: {{^\$L__BB0_[0-9]+:}}
// CHECK-NOT: {{(div|rem)\.}}
// CHECK: cp.async.wait_group 2;
// CHECK-NEXT: bar.sync
// CHECK-NOT: {{(div|rem)\.}}
// CHECK: cp.async.cg.shared.global {{.*}}, 16;
// CHECK: cp.async.commit_group
// CHECK-NOT: {{wait_group|bar.sync|commit_group|(div|rem)\.}}
// CHECK: mma.sync
// CHECK-NOT: {{wait_group|bar.sync|commit_group|(div|rem)\.}}
// CHECK: bra
// CHECK: cp.async.wait_group 2;
// CHECK: cp.async.wait_group 1;
// CHECK: cp.async.wait_group 0;
// CHECK-NOT: cp.async.wait_group
//
// NO-SPILLS: 0 bytes spill stores, 0 bytes spill loads
//
// RUN: async-sim %s --arg 0=ramp --arg 1=random --arg 2=random --out 0=%t.c0.npy --out 1=%t.a.npy --out 2=%t.b.npy | FileCheck %s --check-prefix=PLAIN
// RUN: async-sim %t.tokens.mlir --arg 0=ramp --arg 1=%t.a.npy --arg 2=%t.b.npy --out 0=%t.c1.npy | FileCheck %s --check-prefix=CLEAN
// RUN: cmp %t.c0.npy %t.c1.npy
// RUN: async-opt %t.tokens.mlir --gpux-allocs-to-globals --gpux-tokens-to-groups --gpux-to-nvvm | async-sim --arg 0=ramp --arg 1=%t.a.npy --arg 2=%t.b.npy --out 0=%t.c2.npy | FileCheck %s --check-prefix=CLEAN
// RUN: cmp %t.c0.npy %t.c2.npy
//
// PLAIN: plain: clean
// CLEAN: matmul_kernel: clean

// A row of C in each thread.
gpu.module @reference {
  gpu.func @plain(%C: memref<128x128xf32>, %A: memref<128x256xf16>, %B: memref<256x128xf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %row = gpu.thread_id x
    %before = vector.load %C[%row, %c0] : memref<128x128xf32>, vector<128xf32>
    %sums = scf.for %k = %c0 to %c256 step %c1 iter_args(%sums = %before) -> (vector<128xf32>) {
      %a = memref.load %A[%row, %k] : memref<128x256xf16>
      %b = vector.load %B[%k, %c0] : memref<256x128xf16>, vector<128xf16>
      %wide_a = arith.extf %a : f16 to f32
      %wide_b = arith.extf %b : vector<128xf16> to vector<128xf32>
      %as = vector.broadcast %wide_a : f32 to vector<128xf32>
      %more = vector.fma %as, %wide_b, %sums : vector<128xf32>
      scf.yield %more : vector<128xf32>
    }
    vector.store %sums, %C[%row, %c0] : memref<128x128xf32>, vector<128xf32>
    gpu.return
  }
}
