// An empty group of wgmma is not free: none is added to make the arms of a branch equal. Of other queues it is.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!t = !async.token

// CHECK-LABEL: func.func @wgmma
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NOT: gpux.commit_group
// CHECK: gpux.wait_group <wgmma>, 0
// CHECK-NEXT: return
func.func @wgmma(%p: i1) {
  %ready = async.ready
  %t = gpux.commit_group async <wgmma>
  %u = scf.if %p -> !t {
    %c = gpux.commit_group async <wgmma>
    scf.yield %c : !t
  } else {
    scf.yield %ready : !t
  }
  async.await %t
  async.await %u
  return
}

// CHECK-LABEL: func.func @bulk
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: } else {
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <bulk>, 1
// CHECK-NEXT: gpux.wait_group <bulk>, 0
// CHECK-NEXT: return
func.func @bulk(%p: i1) {
  %ready = async.ready
  %t = gpux.commit_group async <bulk>
  %u = scf.if %p -> !t {
    %c = gpux.commit_group async <bulk>
    scf.yield %c : !t
  } else {
    scf.yield %ready : !t
  }
  async.await %t
  async.await %u
  return
}
