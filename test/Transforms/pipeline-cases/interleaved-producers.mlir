// The consumer is between two producers in a round: A(i+3), then the consumer of A(i) and B(i), then B(i+3). TVM's answer, as
// RFC 0077 shows it, is wrong: its prologue commits A and B of an iteration as one group and its body commits them apart, so
// that its `wait 5` waits for nothing in body iteration 0. With its groups, 3 is right there, then 4, then 5 (see
// interleaved-pipeline.mlir in test/Sim). Here, A(i+3) is not committed before the wait, but with B(i+3) after it. At the wait of
// body iteration i, the groups are those of iterations 0 to i+2: two may stay in flight, in each iteration.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @interleaved_producers
  // CHECK: memref.alloc(){{.*}} : memref<256xi8
  // CHECK: memref.alloc(){{.*}} : memref<192xi8
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg1
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg1
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg1
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg2
  // CHECK:   gpu.barrier
  // CHECK:   gpux.copy async %arg1
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg2
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg2
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg2
  //
  // COUNTED-LABEL: gpu.func @interleaved_producers
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED:   gpux.wait_group <cp_async>, 2
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 2
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.wait_group <cp_async>, 0
  //
  // SIM: interleaved_producers: clean
  gpu.func @interleaved_producers(%a: memref<?xi32>, %b: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s0 = memref.alloc() : !Tile
    %s1 = memref.alloc() : !Tile
    scf.for %i = %c0 to %c12 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy0 = gpux.copy async %a[%at], %s0[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      %copy1 = gpux.copy async %b[%at], %s1[%t], 1 {async.stage = 0, async.order = 2} : memref<?xi32> to !Tile
      async.await %copy0, %copy1 {async.stage = 3, async.order = 1}
      %x = memref.load %s0[%mirrored] {async.stage = 3, async.order = 1} : !Tile
      %y = memref.load %s1[%mirrored] {async.stage = 3, async.order = 1} : !Tile
      %z = arith.addi %x, %y {async.stage = 3, async.order = 1} : i32
      memref.store %z, %c[%at] {async.stage = 3, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}
