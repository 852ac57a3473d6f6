// B = A * 2, C = B + 2, D = C + 1, each in a stage of its own.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @three_stages
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK: memref.alloc(){{.*}} : memref<128xi8
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: gpu.barrier
  // CHECK: scf.for
  // CHECK:   memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %{{view|alloc}}
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  // CHECK: gpu.barrier
  // CHECK: memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  //
  // SIM: three_stages: clean
  gpu.func @three_stages(%a: memref<?xi32>, %c: memref<?xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s0 = memref.alloc() : !Tile
    %s1 = memref.alloc() : !Tile
    scf.for %i = %c0 to %c8 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %x = memref.load %a[%at] {async.stage = 0, async.order = 0} : memref<?xi32>
      %x2 = arith.muli %x, %two {async.stage = 0, async.order = 0} : i32
      memref.store %x2, %s0[%t] {async.stage = 0, async.order = 0} : !Tile
      %y = memref.load %s0[%mirrored] {async.stage = 1, async.order = 1} : !Tile
      %y2 = arith.addi %y, %two {async.stage = 1, async.order = 1} : i32
      memref.store %y2, %s1[%t] {async.stage = 1, async.order = 1} : !Tile
      %z = memref.load %s1[%mirrored] {async.stage = 2, async.order = 2} : !Tile
      %z1 = arith.addi %z, %one {async.stage = 2, async.order = 2} : i32
      memref.store %z1, %c[%at] {async.stage = 2, async.order = 2} : memref<?xi32>
    }
    gpu.return
  }
}
