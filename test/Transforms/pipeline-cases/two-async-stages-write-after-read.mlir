// The second asynchronous stage reads what the first one wrote. Its read is not over until it is awaited, a stage later: TVM
// has two versions of the tile here, and its copy into one may overtake the read of that. There have to be three.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @two_async_stages_write_after_read
  // CHECK: memref.alloc(){{.*}} : memref<384xi8
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg0
  // CHECK: async.await
  // CHECK: gpux.bulk_store async
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpux.bulk_store async
  // CHECK:   async.await
  // CHECK: async.await
  // CHECK: gpux.bulk_store async
  // CHECK: async.await
  // CHECK: async.await
  //
  // COUNTED-LABEL: gpu.func @two_async_stages_write_after_read
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.commit_group <bulk>
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 1
  // COUNTED:   gpux.commit_group <bulk>
  // COUNTED:   gpux.wait_group <bulk>, 1
  // COUNTED: gpux.wait_group <cp_async>, 0
  // COUNTED: gpux.commit_group <bulk>
  // COUNTED: gpux.wait_group <bulk>, 1
  // COUNTED: gpux.wait_group <bulk>, 0
  //
  // SIM: two_async_stages_write_after_read: clean
  gpu.func @two_async_stages_write_after_read(%a: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      async.await %copy {async.stage = 1, async.order = 1}
      %to = memref.subview %c[%tile] [16] [1] {async.stage = 1, async.order = 1} : memref<?xi32> to memref<16xi32, strided<[1], offset: ?>>
      %read, %written = gpux.bulk_store async %s, %to {async.stage = 1, async.order = 1} : !Tile to memref<16xi32, strided<[1], offset: ?>>
      async.await %written {async.stage = 2, async.order = 2}
    }
    gpu.return
  }
}
