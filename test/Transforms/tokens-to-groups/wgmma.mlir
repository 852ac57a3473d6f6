// The tokens of multiplications become exact counts of the wgmma queue.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// The products of the step before are awaited once those of this step are issued: one group stays in flight, and what is awaited
// after the loop is the last one. The fence is for what the call may write.
// CHECK-LABEL: func.func @k_steps
// CHECK: %[[FIRST:.*]] = gpux.wgmma %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]])
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: %[[NEXT:.*]] = gpux.wgmma %{{.*}}, %{{.*}}, %[[SUM]] :
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.wait_group <wgmma>, 1
// CHECK-NEXT: func.call @refill
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: gpux.wait_group <wgmma>, 0
// CHECK-NEXT: return %[[ALL]]
func.func private @refill()

func.func @k_steps(%a: !a, %b: !a, %n: index, %zero: !acc) -> !acc {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first, %t0 = gpux.wgmma async %a, %b, %zero : !a, !a, !acc
  %all, %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %first, %t = %t0) -> (!acc, !async.token) {
    %next, %u = gpux.wgmma async %a, %b, %sum : !a, !a, !acc
    async.await %t
    func.call @refill() : () -> ()
    scf.yield %next, %u : !acc, !async.token
  }
  async.await %last
  return %all : !acc
}

// Attention: the products of one step and of the step before are in flight at once, and each is awaited for itself.
// CHECK-LABEL: func.func @two_accumulators
// CHECK: gpux.wgmma
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.wgmma
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.wait_group <wgmma>, 1
// CHECK-NEXT: call @refill
// CHECK-NEXT: gpux.wait_group <wgmma>, 0
func.func @two_accumulators(%a: !a, %b: !a, %s: !acc, %o: !acc) -> (!acc, !acc) {
  %scores, %t = gpux.wgmma async %a, %b, %s : !a, !a, !acc
  %sum, %u = gpux.wgmma async %a, %b, %o : !a, !a, !acc
  async.await %t
  func.call @refill() : () -> ()
  async.await %u
  return %scores, %sum : !acc, !acc
}

// Copies and multiplications are counted apart, and what is awaited together shares a group.
// CHECK-LABEL: func.func @with_copies
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wgmma
// CHECK-NEXT: gpux.wgmma
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: call @refill
// CHECK-NEXT: gpux.wait_group <wgmma>, 0
func.func @with_copies(%a: !a, %b: !a, %c: !acc, %src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) -> (!acc, !acc) {
  %copied = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %sum0, %t = gpux.wgmma async %a, %b, %c : !a, !a, !acc
  %sum1, %u = gpux.wgmma async %a, %b, %c : !a, !a, !acc
  async.await %copied
  func.call @refill() : () -> ()
  async.await %t, %u
  return %sum0, %sum1 : !acc, !acc
}

// A group without multiplications costs one, so there is none in the other arm. What both awaits wait for, they wait for with the
// first one: on the way through the other arm it is the youngest group.
// CHECK-LABEL: func.func @under_a_condition
// CHECK: gpux.wgmma
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpux.wgmma
// CHECK-NOT: gpux.commit_group
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NEXT: gpux.wait_group <wgmma>, 0
// CHECK-NEXT: call @refill
// CHECK-NEXT: return
func.func @under_a_condition(%a: !a, %b: !a, %c: !acc, %p: i1) -> (!acc, !acc) {
  %first, %t = gpux.wgmma async %a, %b, %c : !a, !a, !acc
  %second, %u = scf.if %p -> (!acc, !async.token) {
    %sum, %w = gpux.wgmma async %a, %b, %c : !a, !a, !acc
    scf.yield %sum, %w : !acc, !async.token
  } else {
    %ready = async.ready
    scf.yield %c, %ready : !acc, !async.token
  }
  async.await %t
  func.call @refill() : () -> ()
  async.await %u
  return %first, %second : !acc, !acc
}
