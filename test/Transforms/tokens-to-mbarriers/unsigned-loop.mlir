// The trips of an unsigned loop are not computed from its bounds, as those of a signed one are: its phases are counted. With -5,
// which is 251, the wait after the loop is for phase 251.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - --block=64 --arg 1=-5 | FileCheck %s --check-prefix=CLEAN
// CLEAN: unsigned: clean

// CHECK: scf.for unsigned {{.*}} -> (i32{{.*}}) : i8 {
// CHECK-NOT: arith.maxsi
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @unsigned(%x: !line, %n: i8) workgroup(%a: !row) kernel {
    %c1 = arith.constant 1 : i8
    %c0 = arith.constant 0 : i8
    %t0 = gpux.bulk_load async %x, %a : !line to !row
    %r = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%t = %t0) -> (!async.token) : i8 {
      async.await %t
      %u = gpux.bulk_load async %x, %a : !line to !row
      scf.yield %u : !async.token
    }
    async.await %r
    gpu.return
  }
}
