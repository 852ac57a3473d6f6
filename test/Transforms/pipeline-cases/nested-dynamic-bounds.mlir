// How often the inner loop runs depends on the iteration of the outer one, and may be less than its stages.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @nested_dynamic_bounds
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK:   gpux.copy async %arg0
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   scf.for
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: async.await
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   scf.for
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  //
  // COUNTED-LABEL: gpu.func @nested_dynamic_bounds
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 1
  // COUNTED:   scf.for
  // COUNTED: gpux.wait_group <cp_async>, 0
  // COUNTED:   scf.for
  //
  // SIM: nested_dynamic_bounds: clean
  gpu.func @nested_dynamic_bounds(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    %b = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      async.await %copy {async.stage = 1, async.order = 1}
      scf.for %j = %c0 to %i step %c1 {
        %shifted = arith.addi %j, %t : index
        %from = arith.andi %shifted, %c15 : index
        %x = memref.load %s[%from] {async.stage = 0, async.order = 0} : !Tile
        memref.store %x, %b[%t] {async.stage = 0, async.order = 0} : !Tile
        %y = memref.load %b[%mirrored] {async.stage = 1, async.order = 1} : !Tile
        %line = arith.muli %j, %c128 : index
        %to = arith.addi %line, %at : index
        memref.store %y, %c[%to] {async.stage = 1, async.order = 1} : memref<?xi32>
      } {async.stage = [1, 1, 1], async.order = [2, 3, 4]}
    }
    gpu.return
  }
}
