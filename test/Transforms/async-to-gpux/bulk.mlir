// With engine=tma, what all threads of a block copy together is one bulk copy.
//
// RUN: async-opt %s --async-to-gpux='engine=tma chip=sm_90' | FileCheck %s

!Tile = memref<16x64xf32, #gpu.address_space<workgroup>>
!Rows = memref<16x64xf32, strided<[64, 1], offset: ?>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @tiles
  // CHECK: scf.for
  // CHECK: %[[ROWS:.*]] = memref.subview
  // CHECK-NEXT: %[[T0:.*]] = gpux.bulk_load async %[[ROWS]], %[[A:.*]] : memref<16x64xf32, strided<[64, 1], offset: ?>> to
  // CHECK-NEXT: %[[T1:.*]] = gpux.bulk_load async %[[ROWS]], %{{.*}} : memref<16x64xf32, strided<[64, 1], offset: ?>> to
  // CHECK-NEXT: async.await %[[T0]], %[[T1]]
  // CHECK-NEXT: gpu.barrier
  gpu.func @tiles(%in: memref<?x64xf32>, %n: index) workgroup(%a: !Tile, %b: !Tile) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    scf.for %k = %c0 to %n step %c16 {
      %rows = memref.subview %in[%k, 0] [16, 64] [1, 1] : memref<?x64xf32> to !Rows
      memref.copy %rows, %a : !Rows to !Tile
      linalg.copy ins(%rows : !Rows) outs(%b : !Tile)
      gpu.barrier
    }
    gpu.return
  }

  // What a thread copies on its own is not for the whole block.
  // CHECK-LABEL: gpu.func @part_of_a_thread
  // CHECK-NOT: gpux.bulk_load
  // CHECK-COUNT-4: gpux.copy async %{{.*}}, 4 {bypass_l1}
  // CHECK-LABEL: gpu.func @one_thread
  // CHECK-NOT: gpux.bulk_load
  // CHECK: gpux.copy
  gpu.func @part_of_a_thread(%in: memref<128x16xf32>) workgroup(%s: memref<128x16xf32, 3>) kernel {
    %t = gpu.thread_id x
    %from = memref.subview %in[%t, 0] [1, 16] [1, 1] : memref<128x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    %to = memref.subview %s[%t, 0] [1, 16] [1, 1] : memref<128x16xf32, 3> to memref<16xf32, strided<[1], offset: ?>, 3>
    memref.copy %from, %to : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1], offset: ?>, 3>
    gpu.return
  }
  gpu.func @one_thread(%in: memref<16xf32>) workgroup(%s: memref<16xf32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      memref.copy %in, %s : memref<16xf32> to memref<16xf32, 3>
    }
    gpu.return
  }
}
