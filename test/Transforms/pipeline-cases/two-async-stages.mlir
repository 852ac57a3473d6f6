// Both stages before the last are asynchronous: numbers of rows are copied, then the rows that they name.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @two_async_stages
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg0
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: gpux.copy async %arg1
  // CHECK: gpu.barrier
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   gpux.copy async %arg1
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg2
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: gpux.copy async %arg1
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg2
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg2
  //
  // COUNTED-LABEL: gpu.func @two_async_stages
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 2
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 2
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.wait_group <cp_async>, 0
  //
  // SIM: two_async_stages: clean
  gpu.func @two_async_stages(%a: memref<?xi32>, %b: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c127 = arith.constant 127 : index
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s0 = memref.alloc() : !Tile
    %s1 = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy0 = gpux.copy async %a[%at], %s0[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      async.await %copy0 {async.stage = 1, async.order = 1}
      %x = memref.load %s0[%mirrored] {async.stage = 1, async.order = 1} : !Tile
      %row = arith.index_cast %x {async.stage = 1, async.order = 1} : i32 to index
      %inside = arith.andi %row, %c127 {async.stage = 1, async.order = 1} : index
      %copy1 = gpux.copy async %b[%inside], %s1[%t], 1 {async.stage = 1, async.order = 1} : memref<?xi32> to !Tile
      async.await %copy1 {async.stage = 2, async.order = 2}
      %y = memref.load %s1[%mirrored] {async.stage = 2, async.order = 2} : !Tile
      %y1 = arith.addi %y, %one {async.stage = 2, async.order = 2} : i32
      memref.store %y1, %c[%at] {async.stage = 2, async.order = 2} : memref<?xi32>
    }
    gpu.return
  }
}
