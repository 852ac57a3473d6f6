// RUN: async-opt %s --gpux-tokens-to-groups="explain=true form-groups=false" --split-input-file --verify-diagnostics

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// Each wait says what it waits for, on which execution its count is right, and what a wait for all would cost there.
func.func @straight_line(%src: !global, %dst: !shared, %i: index) {
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  // expected-note@below {{1 group is committed after this one when the wait is reached by: the only path}}
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  // expected-note@below {{no group is committed after this one when the wait is reached by: the only path}}
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  // expected-remark@below {{wait_group <cp_async>, 1: waits for gpux.copy at 11:8}}
  // expected-note@below {{wait_group 0 would wait for these unnecessarily there: gpux.copy at 15:8}}
  async.await %a
  // expected-remark@below {{wait_group <cp_async>, 0: waits for gpux.copy at 15:8}}
  async.await %b
  // expected-remark@below {{no wait: the awaited copies are complete on every path that leads here}}
  async.await %a, %b
  return
}

// -----

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// The execution is the one with the fewest groups: here the loop runs once, and the copy of the first iteration is
// not there yet.
func.func @loop(%src: !global, %dst: !shared, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  // expected-note@below {{2 groups are committed after this one when the wait is reached by: iterate scf.for at 43:10}}
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!async.token, !async.token) {
    // expected-remark@below {{closes the group of gpux.copy}}
    // expected-note@below {{without it, async.await}}
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    // expected-remark@below {{wait_group <cp_async>, 2: waits for gpux.copy at 39:8, gpux.copy at 42:8, gpux.copy at 46:10}}
    // expected-note@below {{unnecessarily there: gpux.copy at 42:8, gpux.copy at 46:10}}
    async.await %x
    scf.yield %y, %c : !async.token, !async.token
  }
  return
}

// -----

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// The branch that commits nothing allows the wait no larger count.
func.func @branch(%src: !global, %dst: !shared, %i: index, %p: i1) {
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  // expected-note@below {{no group is committed after this one when the wait is reached by: not then of scf.if at 66:3}}
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  scf.if %p {
    // expected-remark@below {{closes the group of gpux.copy}}
    // expected-note@below {{without it, async.await}}
    // expected-note@below {{no group is committed after this one when the wait is reached by: then of scf.if at 66:3}}
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    // expected-remark@below {{wait_group <cp_async>, 0: waits for gpux.copy at 70:10}}
    async.await %b
  }
  // expected-remark@below {{wait_group <cp_async>, 0: waits for gpux.copy at 65:8}}
  async.await %a
  return
}

// -----

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

func.func private @unknown(!async.token)

// Each queue's wait names what is in that queue. Where a token escapes, the drain is explained and nothing else.
func.func @two_queues(%src: !global, %dst: !shared, %i: index) {
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  // expected-note@below {{no group is committed after this one when the wait is reached by: the only path}}
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  %g = gpux.commit_group async <bulk>
  // expected-remark@below {{wait_group <cp_async>, 0: waits for gpux.copy at}}
  // expected-remark@below {{wait_group <bulk>, 0: waits for gpux.commit_group at}}
  async.await %a, %g
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  %b = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  // expected-remark@below {{a token of queue cp_async escapes here, where it can't be followed; the queue is drained before}}
  call @unknown(%b) : (!async.token) -> ()
  return
}
