// A hand-counted kernel in token form, and counted again: the counts are what they were.
//
// RUN: async-opt %s --gpux-groups-to-tokens | FileCheck %s
// RUN: async-opt %s --gpux-groups-to-tokens --gpux-tokens-to-groups | FileCheck %s --check-prefix=AGAIN
// RUN: async-opt %s --gpux-to-nvvm --gpux-groups-to-tokens --gpux-tokens-to-groups | FileCheck %s --check-prefix=AGAIN
// RUN: async-opt %s --gpux-groups-to-tokens -o %t.tokens.mlir
// RUN: async-sim %s --refines=%t.tokens.mlir --arg 0=8x128:ramp --arg 1=128:zero --arg 2=8 | FileCheck %s --check-prefix=SIM
// RUN: async-sim %t.tokens.mlir --refines=%s --arg 0=8x128:ramp --arg 1=128:zero --arg 2=8 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-groups-to-tokens --gpux-lower-to-nvvm='chip=sm_80' | async-translate --ptx | FileCheck %s --check-prefix=PTX

// CHECK: %[[A:[a-z0-9_]+]] = gpux.copy async
// CHECK: %[[B:[a-z0-9_]+]] = gpux.copy async
// CHECK: %[[R:[a-z0-9_]+]]:3 = scf.for {{.*}} iter_args(%{{[a-z0-9_]+}} = %{{[a-z0-9_]+}}, %[[OLD:[a-z0-9_]+]] = %[[A]], %[[MID:[a-z0-9_]+]] = %[[B]])
// CHECK: %[[NEW:[a-z0-9_]+]] = gpux.copy async
// CHECK-NEXT: async.await %[[OLD]]
// CHECK: scf.yield %{{[a-z0-9_]+}}, %[[MID]], %[[NEW]]
// CHECK: async.await %[[R]]#1
// CHECK: async.await %[[R]]#2

// AGAIN: scf.for
// AGAIN: gpux.wait_group <cp_async>, 2
// AGAIN: gpux.wait_group <cp_async>, 1
// AGAIN: gpux.wait_group <cp_async>, 0

// SIM: sum: clean

// PTX: cp.async.wait_group 2
// PTX: cp.async.wait_group 1
// PTX: cp.async.wait_group 0

!Global = memref<?x128xf32>
!Slots = memref<3x128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @sum(%src: !Global, %out: memref<128xf32>, %tiles: index) workgroup(%slots: !Slots)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    gpux.copy %src[%c0, %t], %slots[%c0, %t], 1 : !Global to !Slots
    gpux.commit_group <cp_async>
    gpux.copy %src[%c1, %t], %slots[%c1, %t], 1 : !Global to !Slots
    gpux.commit_group <cp_async>

    %sum = scf.for %tile = %c2 to %tiles step %c1 iter_args(%sum = %zero) -> f32 {
      %to = arith.remui %tile, %c3 : index
      gpux.copy %src[%tile, %t], %slots[%to, %t], 1 : !Global to !Slots
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 2

      %oldest = arith.subi %tile, %c2 : index
      %from = arith.remui %oldest, %c3 : index
      %x = memref.load %slots[%from, %t] : !Slots
      %more = arith.addf %sum, %x : f32
      scf.yield %more : f32
    }

    gpux.wait_group <cp_async>, 1
    %k = arith.subi %tiles, %c2 : index
    %from = arith.remui %k, %c3 : index
    %x = memref.load %slots[%from, %t] : !Slots
    %more = arith.addf %sum, %x : f32

    gpux.wait_group <cp_async>, 0
    %l = arith.subi %tiles, %c1 : index
    %last = arith.remui %l, %c3 : index
    %y = memref.load %slots[%last, %t] : !Slots
    %all = arith.addf %more, %y : f32
    memref.store %all, %out[%t] : memref<128xf32>
    gpu.return
  }
}
