// A loop that is not known to end after so many iterations copies the tile, line by line. Its copies are one group.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 2=7 | FileCheck %s --check-prefix=SIM

!Lines = memref<7x16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @staging_loop
  // CHECK: memref.alloc(){{.*}} : memref<1344xi8
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK: scf.for
  // CHECK:   scf.for
  // CHECK:     gpux.copy async %arg0
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   scf.for
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:   memref.store %{{.*}}, %arg1
  // CHECK:   gpu.barrier
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: scf.for
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK: scf.for
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg1
  //
  // COUNTED-LABEL: gpu.func @staging_loop
  // COUNTED: scf.for
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: scf.for
  // COUNTED:   scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   gpux.wait_group <cp_async>, 2
  // COUNTED:   scf.for
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED: scf.for
  // COUNTED: gpux.wait_group <cp_async>, 0
  // COUNTED: scf.for
  //
  // SIM: staging_loop: clean
  gpu.func @staging_loop(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Lines
    %none = async.ready
    scf.for %i = %c0 to %c6 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %all = scf.for %k = %c0 to %n step %c1 iter_args(%so_far = %none) -> (!async.token) {
        %line = arith.muli %k, %c128 : index
        %from = arith.addi %line, %at : index
        %copy = gpux.copy async %a[%from], %s[%k, %t], 1 : memref<?xi32> to !Lines
        %with = async.join %so_far, %copy
        scf.yield %with : !async.token
      } {async.stage = 0, async.order = 0}
      async.await %all {async.stage = 2, async.order = 1}
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero) -> (i32) {
        %x = memref.load %s[%k, %mirrored] : !Lines
        %more = arith.addi %part, %x : i32
        scf.yield %more : i32
      } {async.stage = 2, async.order = 1}
      memref.store %sum, %c[%at] {async.stage = 2, async.order = 1} : memref<?xi32>
    }
    gpu.return
  }
}
