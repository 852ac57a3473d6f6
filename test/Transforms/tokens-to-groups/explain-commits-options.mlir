// Where an option keeps a commit in its place, the note says which.
//
// RUN: async-opt %s --gpux-tokens-to-groups='explain form-groups=false' -o /dev/null 2>&1 | FileCheck %s

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>
!t = !async.token

// CHECK: 20:10: remark: commit_group <cp_async> where a block of scf.for at 19:8 begins: closes the group of gpux.copy at 20:10
// CHECK: 20:10: note: without it, some await would wait for less, but `form-groups=false` keeps one group for each operation
func.func @two_tiles(%src: !global, %dst: !shared, %i: index, %n: index) {
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %a = scf.for %k = %i to %n step %c1 iter_args(%x = %ready) -> (!t) {
    %c = gpux.copy async %src[%k], %dst[%k], 4 : !global to !shared
    %j = async.join %x, %c
    scf.yield %j : !t
  }
  %b = scf.for %k = %i to %n step %c1 iter_args(%x = %ready) -> (!t) {
    %c = gpux.copy async %src[%k], %dst[%k], 4 : !global to !shared
    %j = async.join %x, %c
    scf.yield %j : !t
  }
  async.await %a
  async.await %b
  return
}
