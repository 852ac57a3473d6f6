// A loop that stages a tile in many copies, whose tokens it joins: the tile is awaited as one, and is one group.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups=form-groups=false | FileCheck %s --check-prefix=EACH
// RUN: async-opt %s --gpux-tokens-to-groups=balance=false | FileCheck %s --check-prefix=PLAIN

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// There may be no trip, and then the group is empty. With `balance=false` that can't be: the commits stay with the copies, and
// after a loop without trips nothing is younger than the first tile.
// CHECK-LABEL: func.func @two_tiles
// CHECK: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
// EACH-LABEL: func.func @two_tiles
// EACH: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.copy
// EACH-NEXT: }
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.wait_group <cp_async>, 1
// EACH-NEXT: gpux.wait_group <cp_async>, 0
// EACH-NEXT: return
// PLAIN-LABEL: func.func @two_tiles
// PLAIN: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: }
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// PLAIN-NEXT: return
func.func @two_tiles(%src: !src, %dst: !dst, %n: index) {
  %c32 = arith.constant 32 : index
  %tid = gpu.thread_id x
  %none = async.ready
  %a = scf.for %k = %tid to %n step %c32 iter_args(%x = %none) -> !t {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    %j = async.join %x, %t
    scf.yield %j : !t
  }
  %b = scf.for %k = %tid to %n step %c32 iter_args(%x = %none) -> !t {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    %j = async.join %x, %t
    scf.yield %j : !t
  }
  async.await %a
  async.await %b
  return
}

// Loops of constant trip count in an arm. The commit after the first is between the two tiles; that after the branch is for
// the second, and the other arm needs none.
// CHECK-LABEL: func.func @under_a_condition
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
// EACH-LABEL: func.func @under_a_condition
// EACH: scf.if
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: } else {
// EACH-NEXT: }
// EACH-NEXT: gpux.wait_group <cp_async>, 4
// EACH-NEXT: gpux.wait_group <cp_async>, 0
// EACH-NEXT: return
// PLAIN-LABEL: func.func @under_a_condition
// PLAIN: scf.if
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: } else {
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// PLAIN-NEXT: return
func.func @under_a_condition(%src: !src, %dst: !dst, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = async.ready
  %r:2 = scf.if %c -> (!t, !t) {
    %a = scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %none) -> !t {
      %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
      %j = async.join %x, %t
      scf.yield %j : !t
    }
    %b = scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %none) -> !t {
      %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
      %j = async.join %x, %t
      scf.yield %j : !t
    }
    scf.yield %a, %b : !t, !t
  } else {
    scf.yield %none, %none : !t, !t
  }
  async.await %r#0
  async.await %r#1
  return
}

// Each tile is staged in a branch of its own. One commit after each branch serves both ways; a group for each copy takes as
// many empty ones.
// CHECK-LABEL: func.func @two_conditions
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
// EACH-LABEL: func.func @two_conditions
// EACH: scf.if
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: } else {
// EACH-NEXT: }
// EACH-NEXT: scf.if
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: } else {
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: gpux.wait_group <cp_async>, 4
// EACH-NEXT: gpux.wait_group <cp_async>, 0
// EACH-NEXT: return
// PLAIN-LABEL: func.func @two_conditions
// PLAIN: scf.if
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: } else {
// PLAIN-NEXT: }
// PLAIN-NEXT: scf.if
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: } else {
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// PLAIN-NEXT: return
func.func @two_conditions(%src: !src, %dst: !dst, %c: i1, %d: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = async.ready
  %a = scf.if %c -> !t {
    %r = scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %none) -> !t {
      %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
      %j = async.join %x, %t
      scf.yield %j : !t
    }
    scf.yield %r : !t
  } else {
    scf.yield %none : !t
  }
  %b = scf.if %d -> !t {
    %r = scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %none) -> !t {
      %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
      %j = async.join %x, %t
      scf.yield %j : !t
    }
    scf.yield %r : !t
  } else {
    scf.yield %none : !t
  }
  async.await %a
  async.await %b
  return
}

// The next tile is staged while the current one is awaited: one group a stage, whatever the trip count of the inner loop.
// CHECK-LABEL: func.func @rotation
// CHECK: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
// EACH-LABEL: func.func @rotation
// EACH: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: }
// EACH-NEXT: scf.for
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.copy
// EACH-NEXT: }
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.wait_group <cp_async>, 1
// EACH-NEXT: }
// EACH-NEXT: gpux.wait_group <cp_async>, 0
// EACH-NEXT: return
// PLAIN-LABEL: func.func @rotation
// PLAIN: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: }
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: scf.for
// PLAIN-NEXT: gpux.copy
// PLAIN-NEXT: gpux.commit_group <cp_async>
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.wait_group <cp_async>, 0
// PLAIN-NEXT: return
func.func @rotation(%src: !src, %dst: !dst, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %tid = gpu.thread_id x
  %none = async.ready
  %first = scf.for %k = %tid to %n step %c32 iter_args(%x = %none) -> !t {
    %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
    %j = async.join %x, %t
    scf.yield %j : !t
  }
  %last = scf.for %s = %c0 to %m step %c1 iter_args(%current = %first) -> !t {
    %next = scf.for %k = %tid to %n step %c32 iter_args(%x = %none) -> !t {
      %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
      %j = async.join %x, %t
      scf.yield %j : !t
    }
    async.await %current
    scf.yield %next : !t
  }
  async.await %last
  return
}

// Guarded nests. With a group for each copy, a commit after the whole nest closes the group of its last copy, or none.
// CHECK-LABEL: func.func @guarded_nests
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// EACH-LABEL: func.func @guarded_nests
// EACH: scf.if
// EACH-NEXT: scf.for
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.copy
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH: scf.if
// EACH-NEXT: scf.for
// EACH-NEXT: scf.for
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.copy
// EACH-NEXT: }
// EACH-NEXT: }
// EACH-NEXT: } else {
// EACH-NEXT: }
// EACH-NEXT: gpux.commit_group <cp_async>
// EACH-NEXT: gpux.wait_group <cp_async>, 1
// EACH-NEXT: gpux.wait_group <cp_async>, 0
func.func @guarded_nests(%src: !src, %dst: !dst, %n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = async.ready
  %a = scf.if %p -> !t {
    %rows = scf.for %i = %c0 to %n step %c1 iter_args(%x = %none) -> !t {
      %columns = scf.for %k = %c0 to %n step %c1 iter_args(%y = %x) -> !t {
        %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
        %j = async.join %y, %t
        scf.yield %j : !t
      }
      scf.yield %columns : !t
    }
    scf.yield %rows : !t
  } else {
    scf.yield %none : !t
  }
  %b = scf.if %p -> !t {
    %rows = scf.for %i = %c0 to %n step %c1 iter_args(%x = %none) -> !t {
      %columns = scf.for %k = %c0 to %n step %c1 iter_args(%y = %x) -> !t {
        %t = gpux.copy async %src[%k], %dst[%k], 1 : !src to !dst
        %j = async.join %y, %t
        scf.yield %j : !t
      }
      scf.yield %columns : !t
    }
    scf.yield %rows : !t
  } else {
    scf.yield %none : !t
  }
  async.await %a
  async.await %b
  return
}

// What nobody awaits joins the group of what comes before it, and both arms change together.
// CHECK-LABEL: func.func @staged_for_nobody
// CHECK: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
func.func @staged_for_nobody(%src: !src, %dst: !dst, %n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %t = gpux.copy async %src[%i], %dst[%i], 1 : !src to !dst
  }
  %r = scf.if %p -> !t {
    %t = gpux.copy async %src[%c0], %dst[%c0], 1 : !src to !dst
    scf.for %i = %c0 to %n step %c1 {
      %u = gpux.copy async %src[%i], %dst[%i], 1 : !src to !dst
    }
    scf.yield %t : !t
  } else {
    %t = gpux.copy async %src[%c0], %dst[%c0], 1 : !src to !dst
    scf.for %i = %c0 to %n step %c1 {
      %u = gpux.copy async %src[%i], %dst[%i], 1 : !src to !dst
    }
    scf.yield %t : !t
  }
  async.await %r
  return
}
