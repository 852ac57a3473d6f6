// A tile that is read twice, by different threads.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @two_consumers(%in: !Global, %out: !Global, %out2: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c508 = arith.constant 508 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %tile = memref.alloc() : !Tile
    %mirror = arith.subi %c508, %mine : index
    scf.for %i = %c0 to %c12288 step %c512 {
      %at = arith.addi %i, %mine : index
      %c = nvgpu.device_async_copy %in[%at], %tile[%mine], 4 : !Global to !Tile
      %g = nvgpu.device_async_create_group %c
      nvgpu.device_async_wait %g
      gpu.barrier
      %x = vector.load %tile[%mirror] {alignment = 16 : i64} : !Tile, vector<4xf32>
      vector.store %x, %out[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
      gpu.barrier
      %y = vector.load %tile[%mine] {alignment = 16 : i64} : !Tile, vector<4xf32>
      vector.store %y, %out2[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
      gpu.barrier
    } {async.num_stages = 4 : i64}
    gpu.return
  }
}
