// RUN: async-opt %s --gpux-tokens-to-groups=explain --verify-diagnostics -o /dev/null

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>

func.func @both(%a: !shared, %b: !shared, %dst: !global) {
  // expected-remark@below {{closes the group of gpux.bulk_store}}
  // expected-note@below {{without it, async.await}}
  // expected-note @+1 {{1 group is committed after this one when the wait is reached by: the only path}}
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  // expected-remark@below {{closes the group of gpux.bulk_store}}
  // expected-note@below {{without it, async.await}}
  // expected-note @+1 {{no group is committed after this one when the wait is reached by: the only path}}
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  // expected-remark @+3 {{wait_group <bulk>, 1: waits for gpux.bulk_store at 10:14}}
  // expected-note @+2 {{wait_group 0 would wait for these unnecessarily there: gpux.bulk_store at 14:14}}
  // expected-remark @+1 {{wait_group <bulk>, 0 read: waits for the reads of gpux.bulk_store at 14:14}}
  async.await %d0, %r1
  // expected-remark @+1 {{no wait: the awaited copies are complete on every path that leads here}}
  async.await %r0
  gpux.wait_group <bulk>, 0
  // expected-remark @+1 {{no wait, but a barrier: on every path that leads here the awaited operations are complete for the thread that issued them, by waits of the input}}
  async.await %d1
  return
}
