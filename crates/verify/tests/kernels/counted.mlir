gpu.func @three(%arg0: memref<?x64xf32>, %arg1: memref<?x64xf32>, %arg2: index) workgroup(%arg3 : memref<3x64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c10000000 = arith.constant 10000000 : index
  %c256 = arith.constant 256 : index
  %c6_i32 = arith.constant 6 : i32
  %c1_i32 = arith.constant 1 : i32
  %c3_i32 = arith.constant 3 : i32
  %c0_i32 = arith.constant 0 : i32
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %leader = gpux.elect
  %c1 = arith.constant 1 : index
  %c0_0 = arith.constant 0 : index
  %c1_1 = arith.constant 1 : index
  %c2_2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %thread_id_x = gpu.thread_id  x
  %subview = memref.subview %arg0[%c0_0, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
  %subview_3 = memref.subview %arg3[%c0_0, 0] [1, 64] [1, 1] : memref<3x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %0 = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.init %0[%c0], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.init %0[%c1], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvgpu.mbarrier.init %0[%c2], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  nvvm.fence.mbarrier.init
  gpu.barrier
  %1 = arith.cmpi sge, %c0_i32, %c3_i32 : i32
  %2 = arith.subi %c0_i32, %c3_i32 : i32
  %3 = arith.select %1, %2, %c0_i32 : i32
  %4 = arith.index_cast %3 : i32 to index
  %5 = arith.addi %c0_i32, %c1_i32 : i32
  %6 = arith.cmpi eq, %5, %c6_i32 : i32
  %7 = arith.select %6, %c0_i32, %5 : i32
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %0[%4], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    gpux.bulk_load %subview, %subview_3, %0[%4] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  }
  %token = gpux.bulk_load async %subview, %subview_3 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %subview_4 = memref.subview %arg0[%c1_1, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
  %subview_5 = memref.subview %arg3[%c1_1, 0] [1, 64] [1, 1] : memref<3x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %8 = arith.cmpi sge, %7, %c3_i32 : i32
  %9 = arith.subi %7, %c3_i32 : i32
  %10 = arith.select %8, %9, %7 : i32
  %11 = arith.index_cast %10 : i32 to index
  %12 = arith.addi %7, %c1_i32 : i32
  %13 = arith.cmpi eq, %12, %c6_i32 : i32
  %14 = arith.select %13, %c0_i32, %12 : i32
  scf.if %leader {
    nvgpu.mbarrier.arrive.expect_tx %0[%11], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    gpux.bulk_load %subview_4, %subview_5, %0[%11] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  }
  %token_6 = gpux.bulk_load async %subview_4, %subview_5 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %15:5 = scf.for %arg4 = %c0_0 to %arg2 step %c1_1 iter_args(%arg5 = %token, %arg6 = %token_6, %arg7 = %14, %arg8 = %c0_i32, %arg9 = %7) -> (!async.token, !async.token, i32, i32, i32) {
    %26 = arith.addi %arg4, %c2_2 : index
    %27 = arith.remui %26, %c3 : index
    %subview_7 = memref.subview %arg0[%26, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %subview_8 = memref.subview %arg3[%27, 0] [1, 64] [1, 1] : memref<3x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %28 = arith.cmpi sge, %arg7, %c3_i32 : i32
    %29 = arith.subi %arg7, %c3_i32 : i32
    %30 = arith.select %28, %29, %arg7 : i32
    %31 = arith.index_cast %30 : i32 to index
    %32 = arith.addi %arg7, %c1_i32 : i32
    %33 = arith.cmpi eq, %32, %c6_i32 : i32
    %34 = arith.select %33, %c0_i32, %32 : i32
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %0[%31], %c256 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
      gpux.bulk_load %subview_7, %subview_8, %0[%31] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    }
    %token_9 = gpux.bulk_load async %subview_7, %subview_8 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %35 = arith.cmpi sge, %arg8, %c3_i32 : i32
    %36 = arith.subi %arg8, %c3_i32 : i32
    %37 = arith.select %35, %36, %arg8 : i32
    %38 = arith.index_cast %37 : i32 to index
    %39 = arith.cmpi sge, %arg8, %c3_i32 : i32
    nvgpu.mbarrier.try_wait.parity %0[%38], %39, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    async.await %arg5
    %40 = arith.remui %arg4, %c3 : index
    %41 = memref.load %arg3[%40, %thread_id_x] : memref<3x64xf32, #gpu.address_space<workgroup>>
    memref.store %41, %arg1[%arg4, %thread_id_x] : memref<?x64xf32>
    scf.yield %arg6, %token_9, %34, %arg9, %arg7 : !async.token, !async.token, i32, i32, i32
  }
  %16 = arith.cmpi sge, %15#3, %c3_i32 : i32
  %17 = arith.subi %15#3, %c3_i32 : i32
  %18 = arith.select %16, %17, %15#3 : i32
  %19 = arith.index_cast %18 : i32 to index
  %20 = arith.cmpi sge, %15#3, %c3_i32 : i32
  nvgpu.mbarrier.try_wait.parity %0[%19], %20, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  %21 = arith.cmpi sge, %15#4, %c3_i32 : i32
  %22 = arith.subi %15#4, %c3_i32 : i32
  %23 = arith.select %21, %22, %15#4 : i32
  %24 = arith.index_cast %23 : i32 to index
  %25 = arith.cmpi sge, %15#4, %c3_i32 : i32
  nvgpu.mbarrier.try_wait.parity %0[%24], %25, %c10000000 : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
  async.await %15#0, %15#1
  gpu.barrier
  scf.if %leader {
    %26 = nvgpu.mbarrier.get %0[%c0] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> i32
    %27 = llvm.inttoptr %26 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %27 : !llvm.ptr<3>
    %28 = nvgpu.mbarrier.get %0[%c1] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> i32
    %29 = llvm.inttoptr %28 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %29 : !llvm.ptr<3>
    %30 = nvgpu.mbarrier.get %0[%c2] : <memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> i32
    %31 = llvm.inttoptr %30 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %31 : !llvm.ptr<3>
  }
  gpu.return
}
