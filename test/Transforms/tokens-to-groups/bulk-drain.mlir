// Workgroup memory goes with its block, so a store has read its source before the function returns.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!t = !async.token
!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>

// CHECK-LABEL: func.func @never_awaited
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: return
func.func @never_awaited(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  return
}

// CHECK-LABEL: func.func @awaited
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @awaited(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  async.await %r0
  return
}

// On one path only.
// CHECK-LABEL: func.func @awaited_on_a_path
// CHECK: scf.if
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK: }
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: return
func.func @awaited_on_a_path(%a: !shared, %dst: !global, %c: i1) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  scf.if %c {
    async.await %r0
  }
  return
}

// Only that return which needs it.
// CHECK-LABEL: func.func @two_returns
// CHECK: ^bb1:
// CHECK-NEXT: return
// CHECK: ^bb2:
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: return
func.func @two_returns(%a: !shared, %dst: !global, %c: i1) {
  cf.cond_br %c, ^none, ^some
^none:
  return
^some:
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  return
}

// A wait for the writes of all, which came with the input, does it too, for what the input has committed.
// CHECK-LABEL: func.func @given
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: return
func.func @given(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0
  return
}

// Code in issued form alone is whoever's wrote it.
// CHECK-LABEL: func.func @issued_by_hand
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: return
func.func @issued_by_hand(%a: !shared, %dst: !global) {
  gpux.bulk_store %a, %dst : !shared to !global
  gpux.commit_group <bulk>
  return
}
