// The sum of rows that indices name: an index is loaded before its row can be copied.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>
!Rows = memref<?x512xf32>

gpu.module @bench {
  gpu.func @gather(%table: !Rows, %indices: memref<24xindex>, %out: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c24 = arith.constant 24 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %row = memref.alloc() : !Tile
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %sum = scf.for %i = %c0 to %c24 step %c1 iter_args(%before = %zero) -> (vector<4xf32>) {
      %from = memref.load %indices[%i] : memref<24xindex>
      %c = nvgpu.device_async_copy %table[%from, %mine], %row[%mine], 4 : !Rows to !Tile
      %g = nvgpu.device_async_create_group %c
      nvgpu.device_async_wait %g
      %x = vector.load %row[%mine] {alignment = 16 : i64} : !Tile, vector<4xf32>
      %after = arith.addf %before, %x : vector<4xf32>
      scf.yield %after : vector<4xf32>
    } {async.num_stages = 4 : i64}
    vector.store %sum, %out[%mine] {alignment = 16 : i64} : !Global, vector<4xf32>
    gpu.return
  }
}
