// The same with fragments in registers: the inner loop loads the next fragments while it multiplies these, and its prologue,
// which loads the first ones, is a stage before the rest of it, so that no k-step starts with loads.
//
// RUN: async-opt %s --async-pipeline | FileCheck %s --implicit-check-not=gpux.copy --implicit-check-not=async.await --implicit-check-not=scf.for --implicit-check-not=gpu.barrier
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | FileCheck %s --check-prefix=COUNTED --implicit-check-not=_group
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero --arg 3=7 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero --arg 3=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="epilogue=predicate" --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:random --arg 2=1024:zero --arg 3=7 | FileCheck %s --check-prefix=SIM

!Tile = memref<16xi32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @gemm_register_double_buffering
  // CHECK: memref.alloc(){{.*}} : memref<256xi8
  // CHECK: memref.alloc(){{.*}} : memref<256xi8
  // CHECK:   gpux.copy async %arg0
  // CHECK:   gpux.copy async %arg1
  // CHECK:   gpux.copy async %arg0
  // CHECK:   gpux.copy async %arg1
  // CHECK:   gpux.copy async %arg0
  // CHECK:   gpux.copy async %arg1
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK: scf.for
  // CHECK:   gpux.copy async %arg0
  // CHECK:   gpux.copy async %arg1
  // CHECK:   scf.for
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:   async.await
  // CHECK:   gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   scf.for
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   scf.for
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK: async.await
  // CHECK: gpu.barrier
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   memref.load %{{view|alloc}}
  // CHECK:   scf.for
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK:     memref.load %{{view|alloc}}
  // CHECK: memref.store %{{.*}}, %arg2
  //
  // COUNTED-LABEL: gpu.func @gemm_register_double_buffering
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.commit_group <cp_async>
  // COUNTED: gpux.wait_group <cp_async>, 2
  // COUNTED: scf.for
  // COUNTED:   gpux.commit_group <cp_async>
  // COUNTED:   scf.for
  // COUNTED:   gpux.wait_group <cp_async>, 2
  // COUNTED:   scf.for
  // COUNTED: gpux.wait_group <cp_async>, 1
  // COUNTED:   scf.for
  // COUNTED: gpux.wait_group <cp_async>, 0
  // COUNTED:   scf.for
  //
  // SIM: gemm_register_double_buffering: clean
  gpu.func @gemm_register_double_buffering(%a: memref<?xi32>, %b: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %row = arith.divui %t, %c4 : index
    %column = arith.remui %t, %c4 : index
    %s0 = memref.alloc() : !Tile
    %s1 = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (i32) {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy0 = gpux.copy async %a[%at], %s0[%t], 1 {async.stage = 0, async.order = 0} : memref<?xi32> to !Tile
      %copy1 = gpux.copy async %b[%at], %s1[%t], 1 {async.stage = 0, async.order = 1} : memref<?xi32> to !Tile
      async.await %copy0, %copy1 {async.stage = 2, async.order = 3}
      %next = scf.for %k = %c0 to %c4 step %c1 iter_args(%part = %acc) -> (i32) {
        %row_start = arith.muli %row, %c4 : index
        %in_a = arith.addi %row_start, %k : index
        %line_start = arith.muli %k, %c4 : index
        %in_b = arith.addi %line_start, %column : index
        %x = memref.load %s0[%in_a] {async.stage = 0, async.order = 0} : !Tile
        %y = memref.load %s1[%in_b] {async.stage = 0, async.order = 0} : !Tile
        %product = arith.muli %x, %y {async.stage = 1, async.order = 1} : i32
        %more = arith.addi %part, %product {async.stage = 1, async.order = 1} : i32
        scf.yield %more : i32
      } {async.stage = [2, 3, 3], async.order = [4, 2, 5]}
      scf.yield %next : i32
    }
    memref.store %sum, %c[%t] : memref<?xi32>
    gpu.return
  }
}
