// An engine that the passes know by its interfaces only: operations of a test dialect on a queue of its own.
//
// RUN: async-opt %s --split-input-file --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!t = !async.token

// CHECK-LABEL: func.func @counted
// CHECK-NEXT: test_async.issue
// CHECK-NEXT: test_async.commit
// CHECK-NEXT: test_async.issue
// CHECK-NEXT: test_async.commit
// CHECK-NEXT: test_async.wait 1
// CHECK-NEXT: test_async.wait 0
// CHECK-NEXT: return
func.func @counted() {
  %a = test_async.issue : !t
  %b = test_async.issue : !t
  async.await %a
  async.await %b
  return
}

// -----

!t = !async.token

// Dependencies are awaited first.
// CHECK-LABEL: func.func @dependent
// CHECK-NEXT: test_async.issue{{$}}
// CHECK-NEXT: test_async.commit
// CHECK-NEXT: test_async.wait 0
// CHECK-NEXT: test_async.issue{{$}}
// CHECK-NEXT: return
func.func @dependent() {
  %a = test_async.issue : !t
  %b = test_async.issue %a : !t
  return
}

// -----

!t = !async.token

// Its waits count to 2.
// CHECK-LABEL: func.func @clamped
// CHECK: test_async.wait 2
func.func @clamped() {
  %a = test_async.issue : !t
  %b = test_async.issue : !t
  %c = test_async.issue : !t
  %d = test_async.issue : !t
  // expected-remark @below {{more than 2 groups may stay in flight here; the hardware counts no further than 2}}
  async.await %a
  async.await %b
  async.await %c
  async.await %d
  return
}

// -----

!t = !async.token

// Two queues don't count each other's groups.
// CHECK-LABEL: func.func @beside_copies
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: test_async.issue
// CHECK-NEXT: test_async.commit
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: test_async.wait 0
func.func @beside_copies(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %b = test_async.issue : !t
  %both = async.join %a, %b
  async.await %both
  return
}

// -----

!t = !async.token

// A group for %b, empty on one of the paths, would let the wait for %a leave it in flight. Those of this queue are not free.
// CHECK-LABEL: func.func @no_empty_groups
// CHECK-NEXT: test_async.issue
// CHECK-NEXT: scf.if
// CHECK-NEXT: test_async.issue
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: test_async.commit
// CHECK-NEXT: test_async.wait 0
// CHECK-NEXT: return
func.func @no_empty_groups(%p: i1) {
  %a = test_async.issue : !t
  %ready = async.ready
  %b = scf.if %p -> !t {
    %c = test_async.issue : !t
    scf.yield %c : !t
  } else {
    scf.yield %ready : !t
  }
  async.await %a
  async.await %b
  return
}

// -----

!t = !async.token

// The commit comes before the code where threads diverge.
// CHECK-LABEL: func.func @commit_before_divergent_code
// CHECK: test_async.issue
// CHECK-NEXT: test_async.commit
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: scf.if
// CHECK-NEXT: test_async.wait 0
// CHECK-NEXT: }
func.func @commit_before_divergent_code() {
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %a = test_async.issue : !t
  %p = arith.cmpi eq, %tid, %c0 : index
  scf.if %p {
    async.await %a
  }
  return
}
