// Each thread copies four numbers of a tile, and stores them: nobody else reads them.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @copy(%in: !Global, %out: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %c12288 step %c512 {
      %at = arith.addi %i, %mine : index
      %c = nvgpu.device_async_copy %in[%at], %tile[%mine], 4 : !Global to !Tile
      %g = nvgpu.device_async_create_group %c
      nvgpu.device_async_wait %g
      %x = vector.load %tile[%mine] {alignment = 16 : i64} : !Tile, vector<4xf32>
      vector.store %x, %out[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
    } {async.num_stages = 4 : i64}
    gpu.return
  }
}
