gpu.func @unknown_trips(%arg0: memref<?x64xf32>, %arg1: index) workgroup(%arg2 : memref<8x64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c10000000 = arith.constant 10000000 : index
  %c256_i32 = arith.constant 256 : i32
  %c0 = arith.constant 0 : index
  %leader = gpux.elect
  %c1 = arith.constant 1 : index
  %c0_0 = arith.constant 0 : index
  %c1_1 = arith.constant 1 : index
  %ready = async.ready
  %0 = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  nvgpu.mbarrier.init %0[%c0], %c1, predicate = %leader : <memorySpace = #gpu.address_space<workgroup>>
  nvvm.fence.mbarrier.init
  gpu.barrier
  scf.if %leader {
  }
  %1 = scf.for %arg3 = %c0_0 to %arg1 step %c1_1 iter_args(%arg4 = %ready) -> (!async.token) {
    %subview = memref.subview %arg0[%arg3, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %subview_2 = memref.subview %arg2[%arg3, 0] [1, 64] [1, 1] : memref<8x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    scf.if %leader {
      %3 = nvgpu.mbarrier.get %0[%c0] : <memorySpace = #gpu.address_space<workgroup>> -> i32
      %4 = llvm.inttoptr %3 : i32 to !llvm.ptr<3>
      nvvm.mbarrier.expect_tx %4, %c256_i32 : !llvm.ptr<3>, i32
      gpux.bulk_load %subview, %subview_2, %0[%c0] : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    }
    %token = gpux.bulk_load async %subview, %subview_2 : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %token_3 = async.join %arg4, %token
    scf.yield %token_3 : !async.token
  }
  scf.if %leader {
    %3 = nvgpu.mbarrier.arrive %0[%c0] : <memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
  }
  %2 = arith.cmpi ne, %c0, %c0 : index
  nvgpu.mbarrier.try_wait.parity %0[%c0], %2, %c10000000 : <memorySpace = #gpu.address_space<workgroup>>
  async.await %1
  gpu.barrier
  scf.if %leader {
    %3 = nvgpu.mbarrier.get %0[%c0] : <memorySpace = #gpu.address_space<workgroup>> -> i32
    %4 = llvm.inttoptr %3 : i32 to !llvm.ptr<3>
    nvvm.mbarrier.inval %4 : !llvm.ptr<3>
  }
  gpu.return
}
