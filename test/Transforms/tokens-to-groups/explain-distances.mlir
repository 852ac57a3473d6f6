// RUN: async-opt %s --gpux-tokens-to-groups="explain=true drop-implied=false" --verify-diagnostics

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// Without drop-implied a count is the distance in the queue, and no execution may need it.
func.func @awaited_twice(%src: !global, %dst: !shared, %i: index) {
  // expected-remark@below {{closes the group of gpux.copy}}
  // expected-note@below {{without it, async.await}}
  // expected-note@below {{no group is committed after this one}}
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  // expected-remark@below {{wait_group <cp_async>, 0: waits for gpux.copy at 11:8}}
  async.await %a
  // expected-remark@below {{wait_group <cp_async>, 0: waits for gpux.copy at 11:8}}
  // expected-note@below {{the count is the distance in the queue: other waits have already completed what this wait is for}}
  async.await %a
  return
}
