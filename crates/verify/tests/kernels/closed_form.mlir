gpu.func @two(%arg0: memref<?x64xf32>, %arg1: memref<?x64xf32>, %arg2: index) workgroup(%arg3 : memref<2x64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c10000000 = arith.constant 10000000 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
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
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %0[%c0], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    gpux.bulk_load %subview, %subview_3, %0[%c0] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  }
  %token = gpux.bulk_load async %subview, %subview_3 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %1 = scf.for %arg4 = %c0_0 to %arg2 step %c1_1 iter_args(%arg5 = %token) -> (!async.token) {
    %8 = arith.addi %arg4, %c1_1 : index
    %9 = arith.remui %8, %c2_2 : index
    %subview_4 = memref.subview %arg0[%8, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %subview_5 = memref.subview %arg3[%9, 0] [1, 64] [1, 1] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %10 = arith.addi %arg4, %c1 : index
    %11 = arith.remui %10, %c2 : index
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %0[%11], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      gpux.bulk_load %subview_4, %subview_5, %0[%11] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    }
    %token_6 = gpux.bulk_load async %subview_4, %subview_5 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %12 = arith.remui %arg4, %c2 : index
    %13 = arith.divui %arg4, %c2 : index
    %14 = arith.remui %13, %c2 : index
    %15 = arith.cmpi ne, %14, %c0 : index
    nvgpu.mbarrier.try_wait.parity %0[%12], %15, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    async.await %arg5
    %16 = arith.remui %arg4, %c2_2 : index
    %17 = memref.load %arg3[%16, %thread_id_x] : memref<2x64xf32, #gpu.address_space<workgroup>>
    memref.store %17, %arg1[%arg4, %thread_id_x] : memref<?x64xf32>
    scf.yield %token_6 : !async.token
  }
  %2 = arith.maxsi %arg2, %c0 : index
  %3 = arith.remui %2, %c2 : index
  %4 = arith.maxsi %arg2, %c0 : index
  %5 = arith.divui %4, %c2 : index
  %6 = arith.remui %5, %c2 : index
  %7 = arith.cmpi ne, %6, %c0 : index
  nvgpu.mbarrier.try_wait.parity %0[%3], %7, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  async.await %1
  gpu.barrier
  scf.if %leader {
    %8 = nvgpu.mbarrier.get %0[%c0] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> i32
    %9 = llvm.inttoptr %8 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %9 : !llvm.ptr<3>
    %10 = nvgpu.mbarrier.get %0[%c1] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2> -> i32
    %11 = llvm.inttoptr %10 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %11 : !llvm.ptr<3>
  }
  gpu.return
}
