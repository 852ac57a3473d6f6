// Tokens of stores flow as all tokens do: through regions and joins, and beside tokens of other queues and engines.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-groups | FileCheck %s

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>

// CHECK-LABEL: func.func @three_kinds
// CHECK: gpux.wait_group <bulk>, 1{{$}}
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @three_kinds(%a: !shared, %b: !shared, %dst: !global, %i: index) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  %t = gpux.copy async %dst[%i], %a[%i], 4 : !global to !shared
  %all = async.join %d0, %r1, %t
  async.await %all
  return
}

// A load is another pass's business: its token stays, and so does an await of it alone.
// CHECK-LABEL: func.func @load_and_store
// CHECK: %[[T:.*]] = gpux.bulk_load async
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: async.await %[[T]]
// CHECK-NEXT: return
func.func @load_and_store(%a: !shared, %b: !shared, %dst: !global) {
  %t = gpux.bulk_load async %dst, %b : !global to !shared
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  async.await %t, %r0
  return
}

// CHECK-LABEL: func.func @load_after_store
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: %[[T:.*]] = gpux.bulk_load async %
// CHECK-NEXT: async.await %[[T]]
func.func @load_after_store(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  %t = gpux.bulk_load async [%r0] %dst, %a : !global to !shared
  async.await %t
  return
}

// CHECK-LABEL: func.func @region
// CHECK: gpux.bulk_store
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @region(%a: !shared, %dst: !global) {
  %t = async.region {
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
    async.yield %r0 : !async.token
  }
  async.await %t
  return
}

// A group made by hand is the thread's own: it takes no barrier.
// CHECK-LABEL: func.func @group_by_hand
// CHECK: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: return
func.func @group_by_hand() {
  %t = gpux.commit_group async <bulk>
  async.await %t
  return
}

// -----

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>

func.func private @callee(!async.token)

// What escapes is complete by then, for all threads.
// CHECK-LABEL: func.func @escapes
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: %[[READY:.*]] = async.ready
// CHECK-NEXT: call @callee(%[[READY]])
// CHECK-NEXT: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: %[[READY:.*]] = async.ready
// CHECK-NEXT: call @callee(%[[READY]])
func.func @escapes(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  // expected-remark @+1 {{a token of queue bulk escapes here}}
  call @callee(%r0) : (!async.token) -> ()
  // expected-remark @+1 {{a token of queue bulk escapes here}}
  call @callee(%d0) : (!async.token) -> ()
  return
}
