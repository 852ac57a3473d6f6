gpu.func @ring(%arg0: memref<?x64xf32>, %arg1: memref<?x64xf32>, %arg2: index) workgroup(%arg3 : memref<2x64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c10000000 = arith.constant 10000000 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %leader = gpux.elect
  %c1 = arith.constant 1 : index
  %c0_0 = arith.constant 0 : index
  %c1_1 = arith.constant 1 : index
  %c2_2 = arith.constant 2 : index
  %thread_id_x = gpu.thread_id  x
  %subview = memref.subview %arg0[%c0_0, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
  %subview_3 = memref.subview %arg3[%c0_0, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %0 = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %0[%c0], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %0[%c1], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  %1 = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %1[%c0], %c64, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvgpu.mbarrier.init %1[%c1], %c64, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %0[%c0], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    gpux.bulk_load %subview, %subview_3, %0[%c0] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  }
  %token = gpux.bulk_load async %subview, %subview_3 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %2 = scf.for %arg4 = %c0_0 to %arg2 step %c1_1 iter_args(%arg5 = %token) -> (!async.token) {
    %9 = arith.addi %arg4, %c1_1 : index
    %10 = arith.remui %9, %c2_2 : index
    %subview_4 = memref.subview %arg0[%9, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %subview_5 = memref.subview %arg3[%10, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %11 = arith.addi %arg4, %c1 : index
    %12 = arith.remui %11, %c2 : index
    %13 = arith.remui %arg4, %c2 : index
    %14 = nvgpu.mbarrier.arrive %1[%13] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> !nvgpu.mbarrier.token
    %15 = arith.divui %arg4, %c2 : index
    %16 = arith.remui %15, %c2 : index
    %17 = arith.cmpi ne, %16, %c0 : index
    scf.if %leader {
      nvgpu.mbarrier.try_wait.parity %1[%13], %17, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      nvgpu.mbarrier.arrive.expect_tx %0[%12], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      gpux.bulk_load %subview_4, %subview_5, %0[%12] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    }
    %token_6 = gpux.bulk_load async %subview_4, %subview_5 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %18 = arith.remui %arg4, %c2 : index
    %19 = arith.divui %arg4, %c2 : index
    %20 = arith.remui %19, %c2 : index
    %21 = arith.cmpi ne, %20, %c0 : index
    nvgpu.mbarrier.try_wait.parity %0[%18], %21, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    async.await %arg5
    %22 = arith.remui %arg4, %c2_2 : index
    %23 = memref.load %arg3[%22, %thread_id_x] : memref<2x64xf32, #gpu.address_space<workgroup>>
    memref.store %23, %arg1[%arg4, %thread_id_x] : memref<?x64xf32>
    scf.yield %token_6 : !async.token
  }
  %3 = arith.maxsi %arg2, %c0 : index
  %4 = arith.remui %3, %c2 : index
  %5 = arith.maxsi %arg2, %c0 : index
  %6 = arith.divui %5, %c2 : index
  %7 = arith.remui %6, %c2 : index
  %8 = arith.cmpi ne, %7, %c0 : index
  nvgpu.mbarrier.try_wait.parity %0[%4], %8, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  async.await %2
  gpu.barrier
  scf.if %leader {
    %9 = nvgpu.mbarrier.get %0[%c0] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> i32
    %10 = llvm.inttoptr %9 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %10 : !llvm.ptr<3>
    %11 = nvgpu.mbarrier.get %0[%c1] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> i32
    %12 = llvm.inttoptr %11 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %12 : !llvm.ptr<3>
    %13 = nvgpu.mbarrier.get %1[%c0] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> i32
    %14 = llvm.inttoptr %13 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %14 : !llvm.ptr<3>
    %15 = nvgpu.mbarrier.get %1[%c1] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> i32
    %16 = llvm.inttoptr %15 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %16 : !llvm.ptr<3>
  }
  gpu.return
}
