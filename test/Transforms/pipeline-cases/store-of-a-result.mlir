// The result of an iteration leaves by an asynchronous store from a buffer that is used again: its source has to have been read.
// Five stores over two slots: a wait for reads leaves one store in flight. The barrier that a store takes is also the one before the
// next copy, and awaits right after each other have one.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=BARRIERS
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>
!Part = memref<16xi32, strided<[1], offset: ?>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @store_of_a_result
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK: memref.alloc(){{.*}} : memref<256xi8
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg0
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_store async
  // CHECK: gpux.copy async %arg0
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_store async
  // CHECK: async.await
  // CHECK: gpux.copy async %arg0
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpu.barrier
  // CHECK: gpux.bulk_store async
  // CHECK: async.await
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   gpux.bulk_store async
  // CHECK:   async.await
  // CHECK:   async.await
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpux.bulk_store async
  // CHECK: async.await
  // CHECK: async.await
  // CHECK: async.await
  // CHECK: async.await
  // CHECK: async.await
  // CHECK: async.await
  //
  // BARRIERS-COUNT-14: gpu.barrier
  // BARRIERS-NOT: gpu.barrier
  //
  // COUNTED-LABEL: gpu.func @store_of_a_result
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.commit_group <bulk>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.commit_group <bulk>
  // COUNTED: gpux.wait_group <bulk>, 1 read
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.commit_group <bulk>
  // COUNTED: gpux.wait_group <bulk>, 1 read
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 1
  // COUNTED:   gpux.commit_group <bulk>
  // COUNTED:   gpux.wait_group <bulk>, 1 read
  // COUNTED:   gpux.wait_group <bulk>, 3
  // COUNTED: gpux.wait_group <cp_async>, 0
  // COUNTED: gpux.commit_group <bulk>
  // COUNTED: gpux.wait_group <bulk>, 1 read
  // COUNTED: gpux.wait_group <bulk>, 3
  // COUNTED: gpux.wait_group <bulk>, 0 read
  // COUNTED: gpux.wait_group <bulk>, 2
  // COUNTED: gpux.wait_group <bulk>, 1
  // COUNTED: gpux.wait_group <bulk>, 0
  //
  // SIM: store_of_a_result: clean
  gpu.func @store_of_a_result(%a: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    %b = memref.alloc() : !Tile
    scf.for %i = %c0 to %c5 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      async.await %copy {async.stage = 1, async.order = 1}
      %x = memref.load %s[%mirrored] {async.stage = 1, async.order = 1} : !Tile
      %x1 = arith.addi %x, %one {async.stage = 1, async.order = 1} : i32
      memref.store %x1, %b[%t] {async.stage = 1, async.order = 1} : !Tile
      %to = memref.subview %c[%tile] [16] [1] {async.stage = 1, async.order = 2} : memref<?xi32> to !Part
      %read, %written = gpux.bulk_store async %b, %to {async.stage = 1, async.order = 2} : !Tile to !Part
      async.await %read {async.stage = 2, async.order = 3}
      async.await %written {async.stage = 4, async.order = 4}
    }
    gpu.return
  }
}
