// A loop body has one number for each await, however different its iterations are: iterations of a constant-trip loop whose
// exact counts differ are taken out of it, up to a limit. Where `balance` makes the iterations agree, none is.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false balance=false' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,BY8
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=2' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,BY2
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,BY0
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefix=BALANCED

// RUN: not async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups='unroll-limit=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: unroll-limit is -1, but must be at least 0 (never unroll)

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// CHECK-LABEL: func.func @epilogue
// BY8-COUNT-4: gpux.commit_group
// BY8-NOT: scf.for
// BY8: gpux.wait_group <cp_async>, 3
// BY8-NEXT: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c0
// BY8-NEXT: arith.constant 1 : index
// BY8-NEXT: gpux.wait_group <cp_async>, 2
// BY8-NEXT: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c1
// BY8-NEXT: arith.constant 2 : index
// BY8-NEXT: gpux.wait_group <cp_async>, 1
// BY8-NEXT: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c2
// BY8-NEXT: arith.constant 3 : index
// BY8-NEXT: gpux.wait_group <cp_async>, 0
// BY8-NEXT: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c3
// BY8-NEXT: return
// BY2: gpux.wait_group <cp_async>, 3
// BY2-NEXT: memref.store
// BY2: gpux.wait_group <cp_async>, 2
// BY2-NEXT: memref.store
// BY2: scf.for
// BY2-NEXT: gpux.wait_group <cp_async>, 0
// BY2-NEXT: memref.store
// BY2-NEXT: }
// BY2-NEXT: return
// BY0: scf.for
// BY0-NEXT: gpux.wait_group <cp_async>, 0
// BY0-NEXT: memref.store
// BY0-NEXT: }
// BY0-NEXT: return
// A commit an iteration: that of the last copy in the first one, then empty. Always three groups are younger.
// BALANCED-LABEL: func.func @epilogue
// BALANCED: scf.for
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 3
// BALANCED-NEXT: memref.store
// BALANCED-NEXT: }
// BALANCED-NEXT: return
func.func @epilogue(%src: !src, %dst: !dst, %i: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %none = async.ready
  scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %a, %y = %b, %z = %c, %w = %d) -> (!t, !t, !t, !t) {
    async.await %x
    memref.store %v, %src[%k] : !src
    scf.yield %y, %z, %w, %none : !t, !t, !t, !t
  }
  return
}

// Only the first iteration differs; the others stay a loop.
// CHECK-LABEL: func.func @first_iteration
// CHECK-COUNT-4: gpux.commit_group
// BY8-NEXT: %[[FIRST:.+]] = arith.constant 10 : i32
// BY8-NEXT: gpux.wait_group <cp_async>, 3
// BY8-NEXT: "test.use"(%[[FIRST]])
// BY8-NEXT: gpux.copy
// BY8-NEXT: gpux.commit_group
// BY8-NEXT: %[[LOWER:.+]] = arith.constant 12 : i32
// BY8-NEXT: scf.for %{{[a-z0-9]+}} = %[[LOWER]] to %{{[a-z0-9_]+}} step
// BY2: gpux.wait_group <cp_async>, 3
// BY2: gpux.commit_group
// BY2: scf.for
// BY0-NEXT: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: "test.use"
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: return
// An empty group an iteration would make the first wait 2, and force %b: the first iteration is still taken out.
// BALANCED-LABEL: func.func @first_iteration
// BALANCED: gpux.wait_group <cp_async>, 3
func.func @first_iteration(%src: !src, %dst: !dst, %i: index) {
  %lower = arith.constant 10 : i32
  %upper = arith.constant 210 : i32
  %step = arith.constant 2 : i32
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %d = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %lower to %upper step %step iter_args(%x = %a, %y = %d) -> (!t, !t) : i32 {
    async.await %x
    "test.use"(%k) : (i32) -> ()
    %e = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %y, %e : !t, !t
  }
  return
}

// All iterations agree.
// CHECK-LABEL: func.func @steady
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @steady(%src: !src, %dst: !dst, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    async.await %x
    %e = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    scf.yield %y, %e : !t, !t
  }
  return
}

// Of an unknown trip count no iteration is certain to exist.
// CHECK-LABEL: func.func @unknown_trip_count
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @unknown_trip_count(%src: !src, %dst: !dst, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %none = async.ready
  scf.for %k = %i to %n step %i iter_args(%x = %a, %y = %b) -> (!t, !t) {
    async.await %x
    scf.yield %y, %none : !t, !t
  }
  return
}

// Other iter_args, values that live on, and inner loops move along.
// CHECK-LABEL: func.func @values
// BY8: gpux.wait_group <cp_async>, 1
// BY8: %[[S1:.+]] = arith.addf
// BY8: gpux.wait_group <cp_async>, 0
// BY8: %[[S2:.+]] = arith.addf %[[S1]]
// BY8-NEXT: return %[[S2]] : f32
// BY0: %[[S:.+]] = scf.for
// BY0: return %[[S]]
func.func @values(%src: !src, %dst: !dst, %i: index, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %none = async.ready
  %r:3 = scf.for %k = %c0 to %c2 step %c1 iter_args(%x = %a, %sum = %v, %y = %b) -> (!t, f32, !t) {
    async.await %x
    %w = memref.load %dst[%k] : !dst
    %s = arith.addf %sum, %w : f32
    scf.yield %y, %s, %none : !t, f32, !t
  }
  return %r#1 : f32
}
