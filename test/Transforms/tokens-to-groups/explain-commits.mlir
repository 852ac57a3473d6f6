// RUN: async-opt %s --gpux-tokens-to-groups=explain --verify-diagnostics -o /dev/null

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>
!t = !async.token

// A commit says which group it closes, what would happen without it, and what would if it stood right after a copy of
// its group.
func.func @after_the_loop(%src: !global, %dst: !shared, %i: index, %n: index) {
  %c1 = arith.constant 1 : index
  %ready = async.ready
  // expected-remark@below {{commit_group <cp_async> after scf.for at 14:8: closes the group of gpux.copy at 17:10}}
  // expected-note@below {{without it, async.await at 31:3 would wait for gpux.copy at 26:10 unnecessarily}}
  %a = scf.for %k = %i to %n step %c1 iter_args(%x = %ready) -> (!t) {
    // expected-note@+2 {{with the commit right after this instead, no await would wait for less}}
    // expected-note@below {{1 group is committed after this one}}
    %c = gpux.copy async %src[%k], %dst[%k], 4 : !global to !shared
    %j = async.join %x, %c
    scf.yield %j : !t
  }
  // expected-remark@below {{commit_group <cp_async> after scf.for at 23:8: closes the group of gpux.copy at 26:10}}
  // expected-note@below {{without it, async.await at 33:3 would come before a commit of what it awaits}}
  %b = scf.for %k = %i to %n step %c1 iter_args(%x = %ready) -> (!t) {
    // expected-note@+2 {{with the commit right after this instead, async.await at 31:3 would wait for gpux.copy at 26:10 unnecessarily}}
    // expected-note@below {{no group is committed after this one}}
    %c = gpux.copy async %src[%k], %dst[%k], 4 : !global to !shared
    %j = async.join %x, %c
    scf.yield %j : !t
  }
  // expected-remark@below {{wait_group <cp_async>, 1}}
  async.await %a
  // expected-remark@below {{wait_group <cp_async>, 0}}
  async.await %b
  return
}
