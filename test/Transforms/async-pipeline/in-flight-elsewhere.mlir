// What is in flight where a loop is entered does not keep it from being pipelined if the loop does nothing to it that could come too
// early.
//
// RUN: async-opt %s --async-pipeline --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --async-pipeline 2>/dev/null | async-sim - --arg=1=6 --schedule=random --runs=20
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups 2>/dev/null | async-sim - --arg=1=6 --schedule=random --runs=20

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // Another buffer.
  // CHECK-LABEL: gpu.func @another_buffer
  // CHECK: %[[PRE:[a-z0-9_]+]] = gpux.copy async
  // CHECK: scf.for
  // CHECK: async.await %[[PRE]], %
  gpu.func @another_buffer(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    %r = memref.alloc() : !s
    %pre = gpux.copy async %a[%c0], %r[%c0], 1 : !g to !s
    // expected-remark @below {{pipelined: 1 transfer in stage 0, the rest in stage 2}}
    scf.for %i = %c0 to %n step %c1 {
      async.await %pre
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      %y = memref.load %r[%c0] : !s
      %z = arith.addf %x, %y : f32
      memref.store %z, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }

  // The token of the second copy comes to the await in the second iteration; after it, nothing is copied to row 1 again.
  // CHECK-LABEL: gpu.func @another_row
  // CHECK: scf.for
  gpu.func @another_row(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %s = memref.alloc() : !s
    %first = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
    %second = gpux.copy async %a[%c1], %s[%c1], 1 : !g to !s
    %none = async.ready
    // expected-remark @below {{pipelined: 1 transfer in stage 0, the rest in stage 2}}
    scf.for %i = %c0 to %n step %c1 iter_args(%t = %first, %u = %second) -> (!async.token, !async.token) {
      async.await %t
      %row = arith.addi %i, %c2 : index
      %v = gpux.copy async %a[%i], %s[%row], 1 : !g to !s
      async.await %v
      %x = memref.load %s[%row] : !s
      memref.store %x, %o[%i] : !g
      scf.yield %u, %none : !async.token, !async.token
    } {async.num_stages = 3}
    gpu.return
  }

  // The schedule executes the await first.
  // CHECK-LABEL: gpu.func @awaited_first
  // CHECK: scf.for
  gpu.func @awaited_first(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    %pre = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
    // expected-remark @below {{pipelined: 1 transfer in stage 0, the rest in stages 0 and 1}}
    scf.for %i = %c0 to %n step %c1 {
      async.await %pre {async.stage = 0, async.order = 0}
      %u = gpux.copy async %a[%i], %s[%c0], 1 {async.stage = 0, async.order = 1} : !g to !s
      async.await %u {async.stage = 1, async.order = 2}
      %x = memref.load %s[%c0] {async.stage = 1, async.order = 3} : !s
      memref.store %x, %o[%i] {async.stage = 1, async.order = 3} : !g
    }
    gpu.return
  }

  // Nothing is awaited any more that was awaited before the loop, or earlier in the loop.
  // CHECK-LABEL: gpu.func @awaited_before
  // CHECK: scf.for
  gpu.func @awaited_before(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    gpux.copy %a[%c0], %s[%c0], 1 : !g to !s
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    // expected-remark @below {{pipelined: 1 transfer in stage 0, the rest in stage 2}}
    scf.for %i = %c0 to %n step %c1 {
      gpux.wait_group <cp_async>, 0
      gpux.copy %a[%i], %s[%c0], 1 : !g to !s
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 0
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }
}
