// The k-loop of a matrix multiplication on tensor cores: each of four warps has 16x32 of a tile of 64x32.
!A = memref<64x?xf16>
!B = memref<?x32xf16>
!As = memref<64x16xf16, #gpu.address_space<workgroup>>
!Bs = memref<16x32xf16, #gpu.address_space<workgroup>>
!Sum = vector<2x2xf32>

gpu.module @bench {
  gpu.func @gemm(%a: !A, %b: !B, %out: memref<128x16xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c384 = arith.constant 384 : index
    %zero = arith.constant dense<0.0> : !Sum
    %t = gpu.thread_id x
    %warp = arith.divui %t, %c32 : index
    %lane = arith.remui %t, %c32 : index
    %row_a = arith.divui %t, %c2 : index
    %half = arith.remui %t, %c2 : index
    %col_a = arith.muli %half, %c8 : index
    %row_b = arith.divui %t, %c8 : index
    %eighth = arith.remui %t, %c8 : index
    %col_b = arith.muli %eighth, %c4 : index
    %first = arith.muli %warp, %c16 : index
    %in_tile = arith.remui %lane, %c16 : index
    %row = arith.addi %first, %in_tile : index
    %side = arith.divui %lane, %c16 : index
    %col = arith.muli %side, %c8 : index
    %col_right = arith.addi %col, %c16 : index
    %as = memref.alloc() : !As
    %bs = memref.alloc() : !Bs
    %sums:4 = scf.for %k = %c0 to %c384 step %c16 iter_args(%p0 = %zero, %p1 = %zero, %p2 = %zero, %p3 = %zero)
        -> (!Sum, !Sum, !Sum, !Sum) {
      %from_a = arith.addi %k, %col_a : index
      %from_b = arith.addi %k, %row_b : index
      %ca = nvgpu.device_async_copy %a[%row_a, %from_a], %as[%row_a, %col_a], 8 : !A to !As
      %cb = nvgpu.device_async_copy %b[%from_b, %col_b], %bs[%row_b, %col_b], 4 : !B to !Bs
      %g = nvgpu.device_async_create_group %ca, %cb
      nvgpu.device_async_wait %g
      gpu.barrier
      %fa = nvgpu.ldmatrix %as[%row, %col] {numTiles = 4 : i32, transpose = false} : !As -> vector<4x2xf16>
      %bs0 = nvgpu.ldmatrix %bs[%in_tile, %col] {numTiles = 4 : i32, transpose = true} : !Bs -> vector<4x2xf16>
      %bs1 = nvgpu.ldmatrix %bs[%in_tile, %col_right] {numTiles = 4 : i32, transpose = true} : !Bs -> vector<4x2xf16>
      %b0 = vector.extract_strided_slice %bs0 {offsets = [0, 0], sizes = [2, 2], strides = [1, 1]} : vector<4x2xf16> to vector<2x2xf16>
      %d0 = nvgpu.mma.sync (%fa, %b0, %p0) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, !Sum) -> !Sum
      %b1 = vector.extract_strided_slice %bs0 {offsets = [2, 0], sizes = [2, 2], strides = [1, 1]} : vector<4x2xf16> to vector<2x2xf16>
      %d1 = nvgpu.mma.sync (%fa, %b1, %p1) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, !Sum) -> !Sum
      %b2 = vector.extract_strided_slice %bs1 {offsets = [0, 0], sizes = [2, 2], strides = [1, 1]} : vector<4x2xf16> to vector<2x2xf16>
      %d2 = nvgpu.mma.sync (%fa, %b2, %p2) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, !Sum) -> !Sum
      %b3 = vector.extract_strided_slice %bs1 {offsets = [2, 0], sizes = [2, 2], strides = [1, 1]} : vector<4x2xf16> to vector<2x2xf16>
      %d3 = nvgpu.mma.sync (%fa, %b3, %p3) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, !Sum) -> !Sum
      gpu.barrier
      scf.yield %d0, %d1, %d2, %d3 : !Sum, !Sum, !Sum, !Sum
    } {async.num_stages = 4 : i64}
    %f0 = vector.shape_cast %sums#0 : !Sum to vector<4xf32>
    vector.store %f0, %out[%t, %c0] : memref<128x16xf32>, vector<4xf32>
    %f1 = vector.shape_cast %sums#1 : !Sum to vector<4xf32>
    vector.store %f1, %out[%t, %c4] : memref<128x16xf32>, vector<4xf32>
    %f2 = vector.shape_cast %sums#2 : !Sum to vector<4xf32>
    vector.store %f2, %out[%t, %c8] : memref<128x16xf32>, vector<4xf32>
    %f3 = vector.shape_cast %sums#3 : !Sum to vector<4xf32>
    vector.store %f3, %out[%t, %c12] : memref<128x16xf32>, vector<4xf32>
    gpu.return
  }
}
