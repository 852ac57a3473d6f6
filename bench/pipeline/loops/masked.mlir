// Like mirror; what is beyond the end of the input is zero.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @masked(%in: !Global, %out: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c508 = arith.constant 508 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %tile = memref.alloc() : !Tile
    %mirror = arith.subi %c508, %mine : index
    %size = memref.dim %in, %c0 : !Global
    scf.for %i = %c0 to %c12288 step %c512 {
      %at = arith.addi %i, %mine : index
      %left = arith.subi %size, %at : index
      %none_or_more = arith.maxsi %left, %c0 : index
      %there = arith.minsi %none_or_more, %c4 : index
      %from = arith.minsi %at, %size : index
      %c = nvgpu.device_async_copy %in[%from], %tile[%mine], 4, %there : !Global to !Tile
      %g = nvgpu.device_async_create_group %c
      nvgpu.device_async_wait %g
      gpu.barrier
      %x = vector.load %tile[%mirror] {alignment = 16 : i64} : !Tile, vector<4xf32>
      vector.store %x, %out[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
      gpu.barrier
    } {async.num_stages = 4 : i64}
    gpu.return
  }
}
