// Copies and awaits on either side of a while loop's condition.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// The copy of the pass before has one group after it, and the one of the last pass none.
// CHECK-LABEL: func.func @copy_and_wait_before
// CHECK-NEXT: scf.while : () -> () {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: scf.condition(%{{[a-z0-9]+}}){{$}}
// CHECK-NEXT: } do {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copy_and_wait_before(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %r = async.ready
  %last = scf.while (%x = %r) : (!async.token) -> !async.token {
    %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %x
    scf.condition(%c) %t : !async.token
  } do {
  ^bb0(%y: !async.token):
    scf.yield %y : !async.token
  }
  async.await %last
  return
}

// Two copies are in flight at the condition. On exit the older is complete, the younger isn't.
// CHECK-LABEL: func.func @wait_before_copy_after
// CHECK: scf.while : () -> () {
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: scf.condition
// CHECK-NEXT: } do {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.yield{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @wait_before_copy_after(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.while (%x = %t, %y = %u) : (!async.token, !async.token) -> (!async.token, !async.token) {
    async.await %x
    scf.condition(%c) %x, %y : !async.token, !async.token
  } do {
  ^bb0(%x: !async.token, %y: !async.token):
    %next = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %y, %next : !async.token, !async.token
  }
  async.await %r#0
  async.await %r#1
  return
}

// CHECK-LABEL: func.func @copy_before_wait_after
// CHECK: gpux.commit_group
// CHECK-NEXT: scf.while : () -> () {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: scf.condition
// CHECK-NEXT: } do {
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: scf.yield{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: return
func.func @copy_before_wait_after(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:2 = scf.while (%x = %t) : (!async.token) -> (!async.token, !async.token) {
    %next = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.condition(%c) %x, %next : !async.token, !async.token
  } do {
  ^bb0(%x: !async.token, %next: !async.token):
    async.await %x
    scf.yield %next : !async.token
  }
  async.await %r#0
  return
}

// The body may never run: what it copies is in flight, or was not issued.
// CHECK-LABEL: func.func @copy_and_wait_after
// CHECK: scf.while
// CHECK: } do {
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: scf.yield{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @copy_and_wait_after(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %r = async.ready
  %last = scf.while (%x = %r) : (!async.token) -> !async.token {
    scf.condition(%c) %x : !async.token
  } do {
  ^bb0(%y: !async.token):
    %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %y
    scf.yield %t : !async.token
  }
  async.await %last
  return
}

// Other values keep their places.
// CHECK-LABEL: func.func @other_values_stay
// CHECK: %[[R:[0-9]+]]:2 = scf.while (%[[X:[a-z0-9]+]] = %{{[a-z0-9]+}}) : (index) -> (index, i1) {
// CHECK: scf.condition(%[[C:[a-z0-9]+]]) %[[X]], %[[C]] : index, i1
// CHECK: ^bb0(%[[Y:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: i1):
// CHECK: scf.yield %[[Y]] : index
// CHECK: return %[[R]]#0 : index
func.func @other_values_stay(%src: !src, %dst: !dst, %i: index, %c: i1) -> index {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %r:4 = scf.while (%x = %t, %k = %i) : (!async.token, index) -> (!async.token, index, !async.token, i1) {
    async.await %x
    scf.condition(%c) %x, %k, %x, %c : !async.token, index, !async.token, i1
  } do {
  ^bb0(%x: !async.token, %k: index, %y: !async.token, %d: i1):
    scf.yield %y, %k : !async.token, index
  }
  return %r#1 : index
}
