// A loop that is known not to run is written like any other: its load has a phase, and the count that the loop around
// carries goes past it as it came.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim - --arg 1=1 --arg 2=3 | FileCheck %s --check-prefix=CLEAN
// CLEAN: k: clean

// CHECK: scf.while
// CHECK: %[[LOOP:[0-9]+]]:2 = scf.for {{.*}} -> (i32, i32) {
// CHECK: scf.yield %{{[0-9]+}}, %[[LOOP]]#0 : index, i32
!tile = !nvgpu.tensormap.descriptor<tensor = memref<2x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!slot = memref<2x32xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%x: !tile, %n: index, %times: index) workgroup(%buf: !slot) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:1 = scf.while (%o = %c0) : (index) -> (index) {
      %go = arith.cmpi ult, %o, %times : index
      scf.condition(%go) %o : index
    } do {
    ^bb0(%o: index):
      %t0 = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
      %e = scf.for %i = %c0 to %c0 step %c1 iter_args(%a = %t0) -> (!async.token) {
        async.await %a
        %l = gpux.tma_load async %x[%i, %c0], %buf : !tile, !slot
        scf.yield %l : !async.token
      }
      async.await %e
      %next = arith.addi %o, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }
}
