// The variable of this loop is 126, and 126 + 3 is no number of its type. Upstream counts one iteration, and what it lowers the loop to goes on
// from -127. So nothing is known of how often it runs: what a second iteration awaits is committed.
//
// RUN: async-opt %s --gpux-tokens-to-groups -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: async-sim %t.mlir --refines=%s --kernel=wraps | FileCheck %s --check-prefix=CLEAN
// CLEAN: wraps: clean

gpu.module @m {
  // CHECK-LABEL: gpu.func @wraps
  // CHECK:       gpux.copy
  // CHECK-NEXT:  gpux.commit_group
  // CHECK-NEXT:  gpux.copy
  // CHECK-NEXT:  scf.for
  // CHECK-NEXT:    gpux.commit_group
  // CHECK-NEXT:    gpux.wait_group <cp_async>, 1
  gpu.func @wraps(%src: memref<16xf32>, %out: memref<64xf32>) workgroup(%dst: memref<256xf32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f0 = arith.constant 0.0 : f32
    %lower = arith.constant 126 : i8
    %upper = arith.constant 127 : i8
    %step = arith.constant 3 : i8
    %a = gpux.copy async %src[%c0], %dst[%c0], 1 : memref<16xf32> to memref<256xf32, 3>
    %b = gpux.copy async %src[%c0], %dst[%c1], 1 : memref<16xf32> to memref<256xf32, 3>
    %r:2 = scf.for %i = %lower to %upper step %step iter_args(%x = %a, %y = %b) -> (!async.token, !async.token) : i8 {
      async.await %x
      memref.store %f0, %out[%c0] : memref<64xf32>
      %ready = async.ready
      scf.yield %y, %ready : !async.token, !async.token
    }
    gpu.return
  }

  // The last value, 124, plus 3 is such a number. So there is one iteration, and the other copy is not awaited.
  // CHECK-LABEL: gpu.func @ends
  // CHECK:       gpux.commit_group
  // CHECK-NEXT:  gpux.copy
  // CHECK-NOT:   gpux.commit_group
  // CHECK:       gpux.wait_group <cp_async>, 0
  // CHECK-NOT:   gpux.commit_group
  // CHECK:       gpu.return
  gpu.func @ends(%src: memref<16xf32>, %out: memref<64xf32>) workgroup(%dst: memref<256xf32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f0 = arith.constant 0.0 : f32
    %lower = arith.constant 124 : i8
    %upper = arith.constant 125 : i8
    %step = arith.constant 3 : i8
    %a = gpux.copy async %src[%c0], %dst[%c0], 1 : memref<16xf32> to memref<256xf32, 3>
    %b = gpux.copy async %src[%c0], %dst[%c1], 1 : memref<16xf32> to memref<256xf32, 3>
    %r:2 = scf.for %i = %lower to %upper step %step iter_args(%x = %a, %y = %b) -> (!async.token, !async.token) : i8 {
      async.await %x
      memref.store %f0, %out[%c0] : memref<64xf32>
      %ready = async.ready
      scf.yield %y, %ready : !async.token, !async.token
    }
    gpu.return
  }
}
