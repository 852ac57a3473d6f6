// y = 2 x + y: two copies in one group.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @axpy(%x: !Global, %y: !Global, %out: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %xs = memref.alloc() : !Tile
    %ys = memref.alloc() : !Tile
    %two = arith.constant dense<2.0> : vector<4xf32>
    scf.for %i = %c0 to %c12288 step %c512 {
      %at = arith.addi %i, %mine : index
      %cx = nvgpu.device_async_copy %x[%at], %xs[%mine], 4 : !Global to !Tile
      %cy = nvgpu.device_async_copy %y[%at], %ys[%mine], 4 : !Global to !Tile
      %g = nvgpu.device_async_create_group %cx, %cy
      nvgpu.device_async_wait %g
      %v = vector.load %xs[%mine] {alignment = 16 : i64} : !Tile, vector<4xf32>
      %w = vector.load %ys[%mine] {alignment = 16 : i64} : !Tile, vector<4xf32>
      %sum = math.fma %two, %v, %w : vector<4xf32>
      vector.store %sum, %out[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
    } {async.num_stages = 4 : i64}
    gpu.return
  }
}
