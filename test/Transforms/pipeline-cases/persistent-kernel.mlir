// A loop around a pipelined one, such as that over the tiles of a persistent kernel. Nothing is in flight from round to round.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @persistent_kernel
  // CHECK: memref.alloc(){{.*}} : memref<192xi8
  // CHECK: scf.for
  // CHECK:     gpux.copy async %arg0
  // CHECK:     gpux.copy async %arg0
  // CHECK:   scf.for
  // CHECK:     gpux.copy async %arg0
  // CHECK:     async.await
  // CHECK:     gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:     gpu.barrier
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  //
  // COUNTED-LABEL: gpu.func @persistent_kernel
  // COUNTED: scf.for
  // COUNTED:     gpux.commit_group <cp_async>
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   scf.for
  // COUNTED:     gpux.commit_group <cp_async>
  // COUNTED:     gpux.wait_group <cp_async>, 2
  // COUNTED:   gpux.wait_group <cp_async>, 1
  // COUNTED:   gpux.wait_group <cp_async>, 0
  //
  // SIM: persistent_kernel: clean
  gpu.func @persistent_kernel(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Tile
    scf.for %round = %c0 to %c3 step %c1 {
      scf.for %i = %c0 to %n step %c1 {
        %rows = arith.muli %round, %n : index
        %row = arith.addi %rows, %i : index
        %tile = arith.muli %row, %c16 : index
        %at = arith.addi %tile, %t : index
        %copy = gpux.copy async %a[%at], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
        async.await %copy {async.stage = 2, async.order = 1}
        %x = memref.load %s[%mirrored] {async.stage = 2, async.order = 1} : !Tile
        memref.store %x, %c[%at] {async.stage = 2, async.order = 1} : memref<?xi32>
      }
    }
    gpu.return
  }
}
