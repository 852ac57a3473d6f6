// Where paths meet on which a position in the queue stands for different groups, a value stands for them.
//
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// Either the branch has waited, or there is something to wait for; it gets an else.
// CHECK-LABEL: func.func @wait_in_a_branch
// CHECK: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = scf.if %{{[a-z0-9]+}} -> (!async.token) {
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: scf.yield %[[READY]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[A]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: return
func.func @wait_in_a_branch(%src: !src, %dst: !dst, %i: index, %c: i1) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.if %c {
    gpux.wait_group <cp_async>, 0
  }
  gpux.wait_group <cp_async>, 0
  return
}

// The last group but one is the first copy, or the one before it, which is older than all there is otherwise.
// CHECK-LABEL: func.func @copy_in_a_branch
// CHECK: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]]:2 = scf.if %{{[a-z0-9]+}} -> (!async.token, !async.token) {
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: scf.yield %[[A]], %[[B]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[READY]], %[[A]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]#0
// CHECK-NEXT: async.await %[[R]]#1
// CHECK-NEXT: return
func.func @copy_in_a_branch(%src: !src, %dst: !dst, %i: index, %c: i1) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.if %c {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}

// Both arms commit one group.
// CHECK-LABEL: func.func @two_arms
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = scf.if %{{[a-z0-9]+}} -> (!async.token) {
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: scf.yield %[[B]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: scf.yield %[[C]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: return
func.func @two_arms(%src: !src, %dst: !dst, %i: index, %c: i1) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.if %c {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
  } else {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}

// A branch that has nothing to do with the queue stays as it is.
// CHECK-LABEL: func.func @other_branch
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: scf.if %{{[a-z0-9]+}} {
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: return
func.func @other_branch(%src: !src, %dst: !dst, %i: index, %c: i1, %x: f32) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.if %c {
    memref.store %x, %src[%i] : !src
  }
  gpux.wait_group <cp_async>, 0
  return
}

// A loop of blocks.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: cf.br ^bb1(%[[A]] : !async.token)
// CHECK-NEXT: ^bb1(%[[OLD:[a-z0-9_]+]]: !async.token):
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[OLD]]
// CHECK-NEXT: cf.cond_br %{{[a-z0-9]+}}, ^bb1(%[[NEW]] : !async.token), ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: async.await %[[NEW]]
// CHECK-NEXT: return
func.func @blocks(%src: !src, %dst: !dst, %i: index, %c: i1) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  cf.br ^bb1
^bb1:
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  cf.cond_br %c, ^bb1, ^bb2
^bb2:
  gpux.wait_group <cp_async>, 0
  return
}

// A branch that is never taken hands on a token, too: every use of a value is behind its definition on all branches there are.
// CHECK-LABEL: func.func @branch_never_taken
// CHECK: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK: cf.cond_br %{{[a-z0-9_]+}}, ^bb1, ^bb2(%[[READY]] : !async.token)
// CHECK: ^bb1:
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: cf.br ^bb2(%[[A]] : !async.token)
// CHECK: ^bb2(%[[T:[a-z0-9_]+]]: !async.token):
// CHECK-NEXT: async.await %[[T]]
func.func @branch_never_taken(%src: !src, %dst: !dst, %i: index) {
  %true = arith.constant true
  cf.cond_br %true, ^bb1, ^bb2
^bb1:
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  cf.br ^bb2
^bb2:
  gpux.wait_group <cp_async>, 0
  return
}
