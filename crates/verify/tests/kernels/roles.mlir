gpu.func @ring(%arg0: memref<?x64xf32>, %arg1: memref<?xf32>, %arg2: index) workgroup(%arg3 : memref<2x64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  %c10000000 = arith.constant 10000000 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %c128 = arith.constant 128 : index
  %c0 = arith.constant 0 : index
  %leader = gpux.elect {warp = 4 : i32}
  %c1 = arith.constant 1 : index
  %c0_0 = arith.constant 0 : index
  %c1_1 = arith.constant 1 : index
  %c2_2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c128_3 = arith.constant 128 : index
  %thread_id_x = gpu.thread_id  x
  %0 = arith.cmpi ult, %thread_id_x, %c128_3 : index
  %1 = arith.andi %thread_id_x, %c63 : index
  %subview = memref.subview %arg0[0, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32>
  %subview_4 = memref.subview %arg0[1, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: 64>>
  %subview_5 = memref.subview %arg3[0, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  %subview_6 = memref.subview %arg3[1, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
  %2 = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %2[%c0], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %2[%c1], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  %3 = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %3[%c0], %c128, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %3[%c1], %c128, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  %thread_id_x_7 = gpu.thread_id  x
  %c32 = arith.constant 32 : index
  %4 = arith.divui %thread_id_x_7, %c32 : index
  %c4 = arith.constant 4 : index
  %5 = arith.cmpi ult, %4, %c4 : index
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %2[%c0], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    gpux.bulk_load %subview, %subview_5, %2[%c0] : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  }
  %token = gpux.bulk_load async %subview, %subview_5 {issuer = 4 : i32} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %2[%c1], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    gpux.bulk_load %subview_4, %subview_6, %2[%c1] : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  }
  %token_8 = gpux.bulk_load async %subview_4, %subview_6 {issuer = 4 : i32} : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
  %cst = arith.constant 0.000000e+00 : f32
  %6:3 = scf.for %arg4 = %c0_0 to %arg2 step %c1_1 iter_args(%arg5 = %cst, %arg6 = %token, %arg7 = %token_8) -> (f32, !async.token, !async.token) {
    %7 = arith.andi %arg4, %c1_1 : index
    %subview_9 = memref.subview %arg3[%7, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %8 = scf.if %0 -> (f32) {
      %16 = arith.remui %arg4, %c2 : index
      %17 = arith.divui %arg4, %c2 : index
      %18 = arith.remui %17, %c2 : index
      %19 = arith.cmpi ne, %18, %c0 : index
      nvgpu.mbarrier.try_wait.parity %2[%16], %19, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      async.await %arg6
      %20 = memref.load %subview_9[%1] : memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
      %21 = arith.addf %arg5, %20 : f32
      scf.yield %21 : f32
    } else {
      scf.yield %arg5 : f32
    }
    %9 = arith.addi %arg4, %c2_2 : index
    %subview_10 = memref.subview %arg0[%9, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %10 = arith.addi %arg4, %c2 : index
    %11 = arith.remui %10, %c2 : index
    %12 = arith.remui %arg4, %c2 : index
    scf.if %5 {
      %16 = nvgpu.mbarrier.arrive %3[%12] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> !nvgpu.mbarrier.token
    }
    %13 = arith.divui %arg4, %c2 : index
    %14 = arith.remui %13, %c2 : index
    %15 = arith.cmpi ne, %14, %c0 : index
    scf.if %leader {
      nvgpu.mbarrier.try_wait.parity %3[%12], %15, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      nvgpu.mbarrier.arrive.expect_tx %2[%11], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      gpux.bulk_load %subview_10, %subview_9, %2[%11] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    }
    %token_11 = gpux.bulk_load async %subview_10, %subview_9 {issuer = 4 : i32} : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    scf.yield %8, %arg7, %token_11 : f32, !async.token, !async.token
  }
  scf.if %0 {
    %7 = arith.maxsi %arg2, %c0 : index
    %8 = arith.remui %7, %c2 : index
    %9 = arith.maxsi %arg2, %c0 : index
    %10 = arith.divui %9, %c2 : index
    %11 = arith.remui %10, %c2 : index
    %12 = arith.cmpi ne, %11, %c0 : index
    nvgpu.mbarrier.try_wait.parity %2[%8], %12, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    %13 = arith.maxsi %arg2, %c0 : index
    %14 = arith.addi %13, %c1 : index
    %15 = arith.remui %14, %c2 : index
    %16 = arith.maxsi %arg2, %c0 : index
    %17 = arith.addi %16, %c1 : index
    %18 = arith.divui %17, %c2 : index
    %19 = arith.remui %18, %c2 : index
    %20 = arith.cmpi ne, %19, %c0 : index
    nvgpu.mbarrier.try_wait.parity %2[%15], %20, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    async.await %6#1, %6#2
    memref.store %6#0, %arg1[%thread_id_x] : memref<?xf32>
  }
  gpu.return
}
