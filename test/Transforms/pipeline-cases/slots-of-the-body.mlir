// The body says itself which of three slots a tile is in. It has no more versions, and the stages have to be ones that three slots
// are enough for.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM

!Slots = memref<3x16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @slots_of_the_body
  // CHECK: memref.alloc(){{.*}} : memref<3x16xi32
  // CHECK:   gpux.copy async %arg0
  // CHECK:   gpux.copy async %arg0
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  //
  // COUNTED-LABEL: gpu.func @slots_of_the_body
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 2
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: gpux.wait_group <cp_async>, 0
  //
  // SIM: slots_of_the_body: clean
  gpu.func @slots_of_the_body(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Slots
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %slot = arith.remui %i, %c3 : index
      %copy = gpux.copy async %a[%at], %s[%slot, %t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Slots
      async.await %copy {async.stage = 2, async.order = 1}
      %x = memref.load %s[%slot, %mirrored] {async.stage = 2, async.order = 1} : !Slots
      memref.store %x, %c[%at] {async.stage = 2, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}
