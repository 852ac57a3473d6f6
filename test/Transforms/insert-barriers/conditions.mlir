// RUN: async-opt %s --gpux-insert-barriers -o %t 2>&1 | FileCheck %s --check-prefix=SAID --allow-empty
// RUN: FileCheck %s --input-file=%t
// RUN: async-sim %t --kernel=proven_by_a_barrier --arg=0=1 | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %t --kernel=proven_around_a_loop --arg=0=1 | FileCheck %s --check-prefix=CLEAN

// CLEAN: clean
// SAID-NOT: warning

// Conditions that are not known to be the same for all threads. All threads have to come to a barrier: one in there proves
// that they go the same way.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @proven_by_a_barrier
  // CHECK: scf.if
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @proven_by_a_barrier(%x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    // The same in all warps, which nothing here knows.
    %voted, %valid = gpu.shuffle idx %one, %zero, %width : i32
    %all = arith.cmpi eq, %voted, %one : i32
    scf.if %all {
      memref.store %x, %s[%t] : !row
      gpu.barrier
      %v = memref.load %s[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @proven_around_a_loop
  // CHECK: scf.for
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.yield
  gpu.func @proven_around_a_loop(%x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %zero = arith.constant 0 : i32
    %width = arith.constant 32 : i32
    %three = arith.constant 3 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %voted, %valid = gpu.shuffle idx %three, %zero, %width : i32
    %n = arith.index_cast %voted : i32 to index
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> f32 {
      memref.store %acc, %s[%t] : !row
      gpu.barrier
      %v = memref.load %s[%mirrored] : !row
      gpu.barrier
      scf.yield %v : f32
    }
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }

  // Between blocks, no barrier is placed, and those that are there stay.
  //
  // CHECK-LABEL: gpu.func @branches_in_a_region
  // CHECK: scf.execute_region
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @branches_in_a_region(%x: f32, %n: index, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %last = scf.execute_region -> f32 {
      cf.br ^again(%c0, %x : index, f32)
    ^again(%i: index, %acc: f32):
      memref.store %acc, %s[%t] : !row
      gpu.barrier
      %v = memref.load %s[%mirrored] : !row
      gpu.barrier
      %next = arith.addi %i, %c1 : index
      %more = arith.cmpi ult, %next, %n : index
      cf.cond_br %more, ^again(%next, %v : index, f32), ^end
    ^end:
      scf.yield %v : f32
    }
    memref.store %last, %out[%t] : memref<64xf32>
    gpu.return
  }

  // Known to be for some threads: a barrier there is a fault that is not this pass's, and it stays.
  //
  // CHECK-LABEL: gpu.func @for_some_threads
  // CHECK: scf.if
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @for_some_threads(%x: f32) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %low = arith.cmpi ult, %t, %c32 : index
    scf.if %low {
      memref.store %x, %s[%t] : !row
      gpu.barrier
    }
    gpu.return
  }

  // A reduction: the condition keeps apart what threads read and write, whatever the distance is. One barrier for each.
  //
  // CHECK-LABEL: gpu.func @reduction
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: scf.if
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @reduction(%n: index) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    memref.store %x, %s[%t] : !row
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%size = %c64) -> index {
      %half = arith.shrui %size, %c1 : index
      %first = arith.cmpi ult, %t, %half : index
      scf.if %first {
        %other = arith.addi %t, %half : index
        %a = memref.load %s[%t] : !row
        %b = memref.load %s[%other] : !row
        %sum = arith.addf %a, %b : f32
        memref.store %sum, %s[%t] : !row
      }
      scf.yield %half : index
    }
    gpu.return
  }
}
