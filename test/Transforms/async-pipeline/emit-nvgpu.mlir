// In upstream's vocabulary, a group for each tile, and exact counts. A stock mlir-opt reads the result and goes on.
//
// RUN: async-opt %s --async-pipeline=emit=nvgpu | FileCheck %s --implicit-check-not=nvgpu.device_async --implicit-check-not=gpux --implicit-check-not="!async.token" --implicit-check-not=async.join --implicit-check-not=async.ready
// RUN: async-opt %s --async-pipeline="emit=nvgpu epilogue=predicate" | mlir-opt | async-opt | FileCheck %s --check-prefix=PREDICATE --implicit-check-not=nvgpu.device_async_wait --implicit-check-not="{empty}"
// RUN: async-opt %s --async-pipeline="emit=nvgpu epilogue=predicate" | mlir-opt --convert-nvgpu-to-nvvm | FileCheck %s --check-prefix=STOCK --implicit-check-not=async.commit --implicit-check-not=async.wait
// RUN: async-opt %s --async-pipeline=emit=nvgpu | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 3=7 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --async-pipeline="emit=nvgpu epilogue=predicate" | async-sim - --arg 0=1024:random --arg 1=1024:zero --arg 3=1 | FileCheck %s --check-prefix=SIM

!Tile = memref<32xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // Where there is nothing to copy, an empty group keeps the number of groups equal. It has an attribute, because without one
  // what it prints could not be read again.
  //
  // CHECK-LABEL: gpu.func @two_tiles
  // CHECK: scf.if
  // CHECK: %[[A:.*]] = nvgpu.device_async_copy %arg0[%{{.*}}], %{{.*}}[%{{.*}}], 1, %arg2
  // CHECK: %[[B:.*]] = nvgpu.device_async_copy %arg0[%{{.*}}], %{{.*}}[%{{.*}}], 1 :
  // CHECK: %[[G:.*]] = nvgpu.device_async_create_group %[[A]], %[[B]]
  // CHECK: scf.yield %[[G]], %[[G]] : !nvgpu.device.async.token, !nvgpu.device.async.token
  // CHECK: else
  // CHECK: %[[E:.*]] = nvgpu.device_async_create_group{{.*}} {empty}
  // CHECK: scf.yield %[[E]], %[[E]]
  // CHECK: scf.if
  // CHECK: nvgpu.device_async_copy
  // CHECK: nvgpu.device_async_copy
  // CHECK: nvgpu.device_async_create_group
  // CHECK: else
  // CHECK: nvgpu.device_async_create_group{{.*}} {empty}
  // CHECK: scf.for
  // CHECK:   nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK:   nvgpu.device_async_copy
  // CHECK:   nvgpu.device_async_copy
  // CHECK:   nvgpu.device_async_create_group
  // CHECK:   scf.yield
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  //
  // PREDICATE-LABEL: gpu.func @two_tiles
  // PREDICATE: else
  // PREDICATE: nvgpu.device_async_create_group{{.*}} {empty}
  // PREDICATE-NEXT: scf.yield
  // PREDICATE: else
  // PREDICATE: nvgpu.device_async_create_group{{.*}} {empty}
  // PREDICATE: scf.for
  // PREDICATE:   nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  // PREDICATE-NEXT: gpu.barrier
  // PREDICATE:   nvgpu.device_async_copy
  // PREDICATE:   nvgpu.device_async_copy
  // PREDICATE:   nvgpu.device_async_create_group
  // PREDICATE:   nvgpu.device_async_create_group{{.*}} {empty}
  //
  // STOCK: nvvm.cp.async.commit.group
  // STOCK: nvvm.cp.async.commit.group
  // STOCK: nvvm.cp.async.commit.group
  // STOCK: nvvm.cp.async.commit.group
  // STOCK: scf.for
  // STOCK: nvvm.cp.async.wait.group 1
  // STOCK: nvvm.cp.async.commit.group
  // STOCK: nvvm.cp.async.commit.group
  //
  // SIM: two_tiles: clean
  gpu.func @two_tiles(%in: memref<?xf32>, %out: memref<?xf32>, %some: index, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    %a = memref.alloc() : !Tile
    %b = memref.alloc() : !Tile
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %first = arith.muli %i, %c32 : index
      %from = arith.addi %first, %t : index
      %more = arith.addi %from, %c32 : index
      %t0 = nvgpu.device_async_copy %in[%from], %a[%t], 1, %some : memref<?xf32> to !Tile
      %t1 = nvgpu.device_async_copy %in[%more], %b[%t], 1 : memref<?xf32> to !Tile
      %g = nvgpu.device_async_create_group %t0, %t1
      nvgpu.device_async_wait %g
      gpu.barrier
      %x = memref.load %a[%mirrored] : !Tile
      %y = memref.load %b[%mirrored] : !Tile
      %z = arith.addf %x, %y : f32
      %next = arith.addf %acc, %z : f32
      gpu.barrier
      scf.yield %next : f32
    } {async.num_stages = 3}
    memref.store %sum, %out[%t] : memref<?xf32>
    gpu.return
  }
}
