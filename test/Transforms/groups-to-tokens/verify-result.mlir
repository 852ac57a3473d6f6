// What the pass writes is checked, and is the same without the check.
//
// RUN: async-opt %s --gpux-groups-to-tokens -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --gpux-groups-to-tokens=verify-result=false -o %t.unchecked
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --gpux-groups-to-tokens=weaken=false 2>/dev/null | FileCheck %s --check-prefix=EXACT

!src = memref<64xf32>
!dst = memref<64xf32, #gpu.address_space<workgroup>>

// The second copy is left to the second wait, since nobody accesses %b before.
// CHECK-LABEL: gpu.func @left
// CHECK:       %[[A:.*]] = gpux.copy async
// CHECK:       %[[B:.*]] = gpux.copy async
// CHECK-NEXT:  async.await %[[A]]
// CHECK-NEXT:  gpu.barrier
// CHECK-NEXT:  memref.load
// CHECK-NEXT:  async.await %[[B]]
// CHECK-NEXT:  gpu.barrier
// CHECK-NEXT:  memref.load
// EXACT-LABEL: gpu.func @left
// EXACT:       async.await %{{.*}}, %
// EXACT-NOT:   async.await
// EXACT-LABEL: gpu.func @other_threads
gpu.module @kernels {
  gpu.func @left(%src: !src, %out: !src) workgroup(%a: !dst, %b: !dst) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    gpux.copy %src[%t], %a[%t], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.copy %src[%t], %b[%t], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    %x = memref.load %a[%c0] : !dst
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    %y = memref.load %b[%c0] : !dst
    %z = arith.addf %x, %y : f32
    memref.store %z, %out[%t] : !src
    gpu.return
  }

  // Other threads load from %a, and the second wait of this thread tells them nothing: no barrier comes after it. So the copy to %a has to be
  // complete at the barrier.
  // CHECK-LABEL: gpu.func @other_threads
  // CHECK:       %[[A:.*]] = gpux.copy async
  // CHECK-NEXT:  async.await %[[A]]
  // CHECK-NEXT:  gpu.barrier
  // CHECK-NEXT:  %[[B:.*]] = gpux.copy async
  // CHECK-NEXT:  async.await %[[B]]
  gpu.func @other_threads(%src: !src, %out: !src) workgroup(%a: !dst, %b: !dst) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %c63 = arith.constant 63 : index
    %o = arith.subi %c63, %t : index
    gpux.copy %src[%t], %a[%t], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    gpux.copy %src[%t], %b[%t], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    %x = memref.load %a[%o] : !dst
    %y = memref.load %b[%t] : !dst
    %z = arith.addf %x, %y : f32
    memref.store %z, %out[%t] : !src
    gpu.return
  }

  // The same with a barrier in a loop that has nothing to do with copies: they may pass it or not.
  // CHECK-LABEL: gpu.func @barrier_in_a_loop
  // CHECK:       %[[A:.*]] = gpux.copy async
  // CHECK-NEXT:  async.await %[[A]]
  // CHECK-NEXT:  scf.for
  gpu.func @barrier_in_a_loop(%src: !src, %out: !src, %n: index) workgroup(%a: !dst) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    gpux.copy %src[%t], %a[%t], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    scf.for %i = %c0 to %n step %c1 {
      gpu.barrier
    }
    gpux.wait_group <cp_async>, 0
    %x = memref.load %a[%t] : !dst
    memref.store %x, %out[%t] : !src
    gpu.return
  }
}

// What is written is in flight where this returns: a caller may wait for it.
// CHECK-LABEL: func.func @reads_alone
// CHECK:       gpux.commit_group <bulk>
// CHECK-NEXT:  gpux.wait_group <bulk>, 0 read
func.func @reads_alone(%src: !dst, %dst: !src) {
  %leader = gpux.elect
  scf.if %leader {
    gpux.bulk_store %src, %dst : !dst to !src
  }
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  gpu.barrier
  return
}

// What is in the open group after the branch is awaited, too.
// CHECK-LABEL: func.func @open_group
// CHECK:       %[[A:.*]] = scf.if
// CHECK:       gpux.copy async
// CHECK:       %[[B:.*]] = gpux.copy async
// CHECK:       async.join %[[A]], %[[B]]
// CHECK:       async.await
func.func @open_group(%src: !src, %a: !dst, %b: !dst, %c: i1) {
  %c0 = arith.constant 0 : index
  scf.if %c {
    gpux.copy %src[%c0], %a[%c0], 1 : !src to !dst
  }
  gpux.copy %src[%c0], %b[%c0], 1 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  return
}

// The wait for all but one group says nothing of the younger one, which is loaded before the last wait.
// CHECK-LABEL: func.func @younger
// CHECK:       %[[A:.*]] = gpux.copy async
// CHECK-NEXT:  %[[B:.*]] = gpux.copy async
// CHECK-NEXT:  async.await %[[B]]
// CHECK-NEXT:  memref.load
// CHECK-NEXT:  async.await %[[A]]
func.func @younger(%src: !src, %a: !dst, %b: !dst) -> f32 {
  %c0 = arith.constant 0 : index
  gpux.copy %src[%c0], %a[%c0], 1 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.copy %src[%c0], %b[%c0], 1 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  gpux.wait_group <cp_async>, 1
  %x = memref.load %b[%c0] : !dst
  gpux.wait_group <cp_async>, 0
  return %x : f32
}

// The next iteration loads it.
// CHECK-LABEL: func.func @next_iteration
// CHECK:       scf.for
// CHECK-NEXT:  memref.load
// CHECK-NEXT:  %[[A:.*]] = gpux.copy async
// CHECK-NEXT:  async.await %[[A]]
func.func @next_iteration(%src: !src, %a: !dst, %n: index) -> f32 {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %zero, %a[%c0] : !dst
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
    %x = memref.load %a[%c0] : !dst
    gpux.copy %src[%c0], %a[%c0], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    scf.yield %x : f32
  }
  gpux.wait_group <cp_async>, 0
  return %r : f32
}

// A loop of one iteration is not begun again: no wait of its inner loop completes the copy.
// CHECK-LABEL: func.func @one_iteration
// CHECK:       scf.for
// CHECK:         %[[COPY:.*]] = gpux.copy async
// CHECK-NOT:     async.await
// CHECK:       async.await
// CHECK-NEXT:  return
func.func @one_iteration(%src: !src, %a: !dst, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    gpux.copy %src[%c0], %a[%c0], 1 : !src to !dst
    scf.for %j = %c0 to %n step %c1 {
      gpux.wait_group <cp_async>, 0
    }
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 0
  return
}
