// Loops carry the tokens of groups that later waits complete, and no others.
//
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// Two copies are in flight while a third is issued: their tokens rotate. The epilogue awaits what the loop leaves.
// CHECK-LABEL: func.func @rotation
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]]:2 = scf.for {{.*}} iter_args(%[[OLD:[a-z0-9_]+]] = %[[A]], %[[MID:[a-z0-9_]+]] = %[[B]]) -> (!async.token, !async.token) {
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[OLD]]
// CHECK-NEXT: scf.yield %[[MID]], %[[NEW]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]#0
// CHECK-NEXT: async.await %[[R]]#1
// CHECK-NEXT: return
func.func @rotation(%src: !src, %dst: !dst, %i: index, %n: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.for %k = %i to %n step %i {
    gpux.copy %src[%k], %dst[%k], 4 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 2
  }
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}

// What is complete at the end of each iteration is not carried.
// CHECK-LABEL: func.func @nothing_carried
// CHECK: scf.for %{{[a-z0-9]+}} = %{{[a-z0-9]+}} to %{{[a-z0-9]+}} step %{{[a-z0-9]+}} {
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[A]]
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @nothing_carried(%src: !src, %dst: !dst, %i: index, %n: index) {
  scf.for %k = %i to %n step %i {
    gpux.copy %src[%k], %dst[%k], 4 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
  }
  gpux.wait_group <cp_async>, 0
  return
}

// The loop commits more than it waits: the groups that no count keeps apart are joined.
// CHECK-LABEL: func.func @unbounded
// CHECK: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK: %[[R:[a-z0-9_]+]]:2 = scf.for {{.*}} iter_args(%[[TAIL:[a-z0-9_]+]] = %[[READY]], %[[LAST:[a-z0-9_]+]] = %[[READY]])
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[ALL:[a-z0-9_]+]] = async.join %[[TAIL]], %[[LAST]]
// CHECK-NEXT: scf.yield %[[ALL]], %[[NEW]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]#0
// CHECK-NEXT: async.await %[[R]]#1
// CHECK-NEXT: return
func.func @unbounded(%src: !src, %dst: !dst, %i: index, %n: index) {
  scf.for %k = %i to %n step %i {
    gpux.copy %src[%k], %dst[%k], 4 : !src to !dst
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}

// The group is open from one iteration to the next.
// CHECK-LABEL: func.func @open_around_the_loop
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = scf.for {{.*}} iter_args(%[[OPEN:[a-z0-9_]+]] = %[[A]]) -> (!async.token) {
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: async.await %[[OPEN]]
// CHECK-NEXT: scf.yield %[[NEW]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: return
func.func @open_around_the_loop(%src: !src, %dst: !dst, %i: index, %n: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  scf.for %k = %i to %n step %i {
    gpux.commit_group <cp_async>
    gpux.copy %src[%k], %dst[%k], 4 : !src to !dst
    gpux.wait_group <cp_async>, 0
  }
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  return
}

// A loop without copies takes nothing, and what is awaited in it is complete after it.
// CHECK-LABEL: func.func @waits_alone
// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = scf.for {{.*}} iter_args(%[[X:[a-z0-9_]+]] = %[[A]]) -> (!async.token) {
// CHECK-NEXT: async.await %[[X]]
// CHECK-NEXT: scf.yield %{{.*}} : !async.token
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]
// CHECK-NEXT: return
func.func @waits_alone(%src: !src, %dst: !dst, %i: index, %n: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  gpux.commit_group <cp_async>
  scf.for %k = %i to %n step %i {
    gpux.wait_group <cp_async>, 0
  }
  gpux.wait_group <cp_async>, 0
  return
}

// The condition of a `scf.while` forwards tokens to its body and after it.
// CHECK-LABEL: func.func @while
// CHECK: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK: %[[R:[a-z0-9_]+]]:2 = scf.while (%[[TAIL:[a-z0-9_]+]] = %[[READY]], %[[LAST:[a-z0-9_]+]] = %[[READY]])
// CHECK-NEXT: %[[NEW:[a-z0-9_]+]] = gpux.copy async %
// CHECK-NEXT: %[[ALL:[a-z0-9_]+]] = async.join %[[TAIL]], %[[LAST]]
// CHECK-NEXT: scf.condition(%{{[a-z0-9]+}}) %[[ALL]], %[[NEW]]
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[X:[a-z0-9_]+]]: !async.token, %[[Y:[a-z0-9_]+]]: !async.token):
// CHECK-NEXT: async.await %[[X]]
// CHECK-NEXT: scf.yield %[[READY]], %[[Y]]
// CHECK-NEXT: }
// CHECK-NEXT: async.await %[[R]]#0, %[[R]]#1
// CHECK-NEXT: return
func.func @while(%src: !src, %dst: !dst, %i: index, %c: i1) {
  scf.while : () -> () {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
    scf.condition(%c)
  } do {
    gpux.wait_group <cp_async>, 1
    scf.yield
  }
  gpux.wait_group <cp_async>, 0
  return
}
