// One thread awaits alone what perhaps all threads have awaited before: where they have, only a barrier before that region can order the copies
// of others with what it reads there.
//
// RUN: async-opt %s --gpux-insert-barriers -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %t --block=64 --arg 2=1 | FileCheck %s --check-prefix=CLEAN
// CLEAN: copied: clean
// CLEAN: with_a_token: clean

!in = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @copied
  // CHECK: scf.if
  // CHECK-NEXT: gpux.wait_group <cp_async>, 0
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  gpu.func @copied(%in: !in, %out: !in, %all: i1) workgroup(%s: !row) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = arith.cmpi eq, %t, %c0 : index
    gpux.copy %in[%t], %s[%t], 1 : !in to !row
    gpux.commit_group <cp_async>
    scf.if %all {
      gpux.wait_group <cp_async>, 0
    }
    scf.if %first {
      gpux.wait_group <cp_async>, 0
      %x = memref.load %s[%c1] : !row
      memref.store %x, %out[%c0] : !in
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @with_a_token
  // CHECK: scf.if
  // CHECK-NEXT: async.await
  // CHECK-NEXT: gpu.barrier
  // CHECK-NOT: gpu.barrier
  gpu.func @with_a_token(%in: !in, %out: !in, %all: i1) workgroup(%s: !row) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = arith.cmpi eq, %t, %c0 : index
    %copy = gpux.copy async %in[%t], %s[%t], 1 : !in to !row
    scf.if %all {
      async.await %copy
    }
    scf.if %first {
      async.await %copy
      %x = memref.load %s[%c1] : !row
      memref.store %x, %out[%c0] : !in
    }
    gpu.return
  }
}
