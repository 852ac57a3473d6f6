// The prologue of the inner loop is in an earlier stage of the outer loop than the rest of it: it has the next tile while the
// rest is at work on this one.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @nested_prefetch_inner
  // CHECK: memref.alloc(){{.*}} : memref<192xi8
  // CHECK: memref.alloc(){{.*}} : memref<256xi8
  // CHECK: gpux.copy async %arg0
  // CHECK: gpux.copy async %arg0
  // CHECK: async.await
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   scf.for
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK: scf.for
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   gpu.barrier
  // CHECK:   memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK: async.await
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  // CHECK: scf.for
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  //
  // COUNTED-LABEL: gpu.func @nested_prefetch_inner
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   scf.for
  // COUNTED:   gpux.wait_group <cp_async>, 1
  // COUNTED: scf.for
  // COUNTED: gpux.wait_group <cp_async>, 0
  // COUNTED: scf.for
  //
  // SIM: nested_prefetch_inner: clean
  gpu.func @nested_prefetch_inner(%a: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %two = arith.constant 2 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    %b = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      async.await %copy {async.stage = 1, async.order = 2}
      scf.for %j = %c0 to %c4 step %c1 {
        %part = arith.muli %j, %c4 : index
        %neighbor = arith.addi %part, %t : index
        %from = arith.andi %neighbor, %c15 : index
        %x = memref.load %s[%from] {async.stage = 0, async.order = 0} : !Tile
        %x2 = arith.muli %x, %two {async.stage = 0, async.order = 0} : i32
        memref.store %x2, %b[%t] {async.stage = 0, async.order = 0} : !Tile
        %y = memref.load %b[%mirrored] {async.stage = 1, async.order = 1} : !Tile
        %y2 = arith.addi %y, %two {async.stage = 1, async.order = 1} : i32
        %line = arith.muli %j, %c128 : index
        %to = arith.addi %line, %at : index
        memref.store %y2, %c[%to] {async.stage = 1, async.order = 1} : memref<?xi32>
      } {async.stage = [1, 2, 2], async.order = [3, 1, 4]}
    }
    gpu.return
  }
}
