// Empty groups on the ways around a conditional copy make counts equal again, where that makes some await wait for less.
//
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false' | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false' | FileCheck %s --check-prefixes=CHECK,PLAIN

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// One commit after the branch serves both ways: the hardware counts commits of a warp whose threads may diverge.
// CHECK-LABEL: func.func @copy_without_else
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copy_without_else(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  async.await %t
  return
}

// CHECK-LABEL: func.func @nested
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @nested(%src: !src, %dst: !dst, %i: index, %c: i1, %d: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    scf.if %d {
      %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
  }
  async.await %t
  return
}

// The copies of both arms are equally many already.
// CHECK-LABEL: func.func @equal_arms
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @equal_arms(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = scf.if %c -> !async.token {
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %a : !async.token
  } else {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %b : !async.token
  }
  async.await %t
  async.await %u
  return
}

// No copy from before the branch is awaited after it: no wait is the better for an empty group. The commit is after the
// branch nonetheless, where all threads of a warp come by together.
// CHECK-LABEL: func.func @nothing_to_gain
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @nothing_to_gain(%src: !src, %dst: !dst, %i: index, %c: i1) {
  scf.if %c {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  }
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  async.await %t
  return
}

// The copy of the arm is awaited there, which completes %t as well: waiting after the branch is for the other way, where
// nothing is younger than %t.
// CHECK-LABEL: func.func @await_of_the_copy_in_its_arm
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @await_of_the_copy_in_its_arm(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %u
  }
  async.await %t
  return
}

// The arm's first copy is awaited there, so its commit stays; that of the second is after the branch and serves both
// ways. The last wait has something to wait for on the other way only, and must not force the second copy on this one.
// CHECK-LABEL: func.func @await_inside_an_arm
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: gpux.wait_group <cp_async>, 1
// BALANCED-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @await_inside_an_arm(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %v = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %u
  }
  async.await %t
  return
}

// The arm's copy is perhaps awaited there. A commit right before that await and one after the branch serve all three ways:
// on one of them the second commit is empty, on another one it is the copy's.
// CHECK-LABEL: func.func @perhaps_awaited_in_its_arm
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.if
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: }
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @perhaps_awaited_in_its_arm(%src: !src, %dst: !dst, %i: index, %c: i1, %d: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.if %d {
      async.await %u
    }
  }
  async.await %t
  return
}

// A loop of constant trip count in the arm: as many empty groups.
// CHECK-LABEL: func.func @constant_loop_in_an_arm
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: } else {
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @constant_loop_in_an_arm(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %c {
    scf.for %k = %c0 to %c2 step %c1 {
      %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
  }
  async.await %t
  return
}

// Three stages; each has its group, whether it copies or not.
// CHECK-LABEL: func.func @predicated_producer
// CHECK: scf.for
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// BALANCED-NEXT: gpux.wait_group <cp_async>, 2
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// BALANCED-NEXT: gpux.wait_group <cp_async>, 0
// BALANCED-NEXT: return
func.func @predicated_producer(%src: !src, %dst: !dst, %i: index, %n: index, %s: index, %more: i1) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %left:3 = scf.for %k = %i to %n step %s iter_args(%x = %a, %y = %b, %z = %c) -> (!async.token, !async.token, !async.token) {
    async.await %x
    %next = scf.if %more -> !async.token {
      %t = gpux.copy async %src[%k], %dst[%k], 4 : !src to !dst
      scf.yield %t : !async.token
    } else {
      %r = async.ready
      scf.yield %r : !async.token
    }
    scf.yield %y, %z, %next : !async.token, !async.token, !async.token
  }
  async.await %left#0
  async.await %left#1
  async.await %left#2
  return
}
