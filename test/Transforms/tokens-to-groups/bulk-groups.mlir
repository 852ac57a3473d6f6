// Stores share a group only where that makes neither kind of await force more.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>

// CHECK-LABEL: func.func @together
// CHECK-COUNT-1: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @together(%a: !shared, %b: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  async.await %r0, %r1
  return
}

// They are awaited together as far as reads go, and apart as far as writes go: two groups.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: gpux.commit_group
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpux.wait_group <bulk>, 1{{$}}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpux.wait_group <bulk>, 0{{$}}
func.func @apart(%a: !shared, %b: !shared, %dst: !global, %v: f32, %i: index) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  async.await %r0, %r1
  async.await %d0
  memref.store %v, %dst[%i] : !global
  async.await %d1
  return
}

// An empty group makes counts equal where a store is conditional.
// CHECK-LABEL: func.func @conditional
// CHECK: scf.if %arg2
// CHECK-NOT: gpux.commit_group
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 1 read
func.func @conditional(%a: !shared, %dst: !global, %c: i1) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  scf.if %c {
    %r1, %d1 = gpux.bulk_store async %a, %dst : !shared to !global
  }
  async.await %r0
  return
}
