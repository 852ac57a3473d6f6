// A wait leaves a group to a later one if nobody accesses its memory before.
//
// RUN: async-opt %s --gpux-groups-to-tokens | FileCheck %s
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s --check-prefix=EXACT

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// Two tiles are copied, and both are waited for before either is read.
// CHECK-LABEL: gpu.func @two_tiles
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.load
// CHECK-NEXT: async.await %[[B]]
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.load
//
// EXACT-LABEL: gpu.func @two_tiles
// EXACT: async.await %{{.*}}, %
// EXACT-NEXT: gpu.barrier
// EXACT-NEXT: memref.load
// EXACT-NEXT: gpu.barrier
// EXACT-NEXT: memref.load
//
// The copies of both tiles rotate. What the first wait completes of the second tile is not read before the second wait, which
// completed nothing.
// CHECK-LABEL: gpu.func @interleaved
// CHECK: scf.for
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[OLD_A:[a-z0-9]+]]
// CHECK-NEXT: memref.load
// CHECK-NEXT: async.await %[[OLD_B:[a-z0-9]+]]
// CHECK-NEXT: memref.load
//
// EXACT-LABEL: gpu.func @interleaved
// EXACT: scf.for
// EXACT: async.await %{{.*}}, %
// EXACT-NEXT: memref.load
// EXACT-NEXT: memref.load
//
// Threads that take different ways to a barrier may do anything after it.
// CHECK-LABEL: gpu.func @divergent_barrier
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK: async.await %[[A]]
// CHECK-NEXT: gpu.barrier
//
// The wait in the branch is the last one on a path, and the branch leaves nothing to the other one.
// CHECK-LABEL: gpu.func @last_wait
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: scf.if
// CHECK-NOT: async.await
// CHECK: gpu.return
//
// A write to the memory has to wait, too.
// CHECK-LABEL: gpu.func @overwritten
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.return
//
// The wait for all but one completes the first copy, too, before it is read.
// CHECK-LABEL: gpu.func @later_count
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: memref.load
// CHECK-NEXT: async.await %[[B]]
// CHECK-NEXT: gpu.return
//
// Both copies write to one buffer, and the second one must not overtake the first.
// CHECK-LABEL: gpu.func @same_buffer
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[B]]
gpu.module @m {
  gpu.func @two_tiles(%src: !src, %i: index, %out: !src) workgroup(%a: !dst, %b: !dst) kernel {
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.copy %src[%i], %b[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    %x = memref.load %a[%i] : !dst
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    %y = memref.load %b[%i] : !dst
    gpu.return
  }

  gpu.func @interleaved(%src: !src, %i: index, %n: index, %out: !src) workgroup(%a: !dst, %b: !dst) kernel {
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.copy %src[%i], %b[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    scf.for %k = %i to %n step %i {
      gpux.copy %src[%k], %a[%k], 1 : !src to !dst
      gpux.commit_group <cp_async>
      gpux.copy %src[%k], %b[%k], 1 : !src to !dst
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 2
      %x = memref.load %a[%i] : !dst
      gpux.wait_group <cp_async>, 2
      %y = memref.load %b[%i] : !dst
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  gpu.func @divergent_barrier(%src: !src, %i: index, %n: index) workgroup(%a: !dst) kernel {
    %thread = gpu.thread_id x
    %few = arith.cmpi ult, %thread, %n : index
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    scf.if %few {
      gpux.wait_group <cp_async>, 0
      gpu.barrier
    } else {
      gpu.barrier
      %x = memref.load %a[%i] : !dst
    }
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  gpu.func @last_wait(%src: !src, %i: index, %c: i1) workgroup(%a: !dst) kernel {
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    scf.if %c {
      gpux.wait_group <cp_async>, 0
    }
    gpu.return
  }

  gpu.func @overwritten(%src: !src, %i: index, %x: f32) workgroup(%a: !dst) kernel {
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    memref.store %x, %a[%i] : !dst
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  gpu.func @later_count(%src: !src, %i: index) workgroup(%a: !dst, %b: !dst) kernel {
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpux.copy %src[%i], %b[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 1
    %x = memref.load %a[%i] : !dst
    gpux.wait_group <cp_async>, 0
    gpu.return
  }

  gpu.func @same_buffer(%src: !src, %i: index, %j: index) workgroup(%a: !dst) kernel {
    gpux.copy %src[%i], %a[%i], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpux.copy %src[%j], %a[%j], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}
