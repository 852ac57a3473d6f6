// The inner loop has copies of its own, and its prologue is a stage ahead of the rest: the tokens of its first copies go
// into the inner kernel an outer iteration later. Its buffer has two versions for each of three outer iterations.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @nested_inner_prologue_of_copies
  // CHECK: memref.alloc(){{.*}} : memref<256xi8
  // CHECK: gpux.copy async %arg0
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   scf.for
  // CHECK:     gpux.copy async %arg0
  // CHECK:     async.await
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:     gpu.barrier
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  //
  // COUNTED-LABEL: gpu.func @nested_inner_prologue_of_copies
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED:   scf.for
  // COUNTED:     gpux.commit_group <cp_async>
  // COUNTED:     gpux.wait_group <cp_async>, 1
  // COUNTED:   gpux.wait_group <cp_async>, 0
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.wait_group <cp_async>, 0
  //
  // SIM: nested_inner_prologue_of_copies: clean
  gpu.func @nested_inner_prologue_of_copies(%a: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c3 step %c1 {
        %rows = arith.muli %i, %c3 : index
        %row = arith.addi %rows, %j : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
        async.await %copy {async.stage = 1, async.order = 1}
        %x = memref.load %s[%mirrored] {async.stage = 1, async.order = 1} : !Tile
        memref.store %x, %c[%at] {async.stage = 1, async.order = 1} : memref<?xi32>
      } {async.stage = [0, 1, 1], async.order = [0, 1, 2]}
    }
    gpu.return
  }
}
