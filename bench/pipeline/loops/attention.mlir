// Keys and values are groups of their own: the keys are multiplied while the values may still be on their way.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @attention(%q: !Global, %k: !Global, %v: !Global, %out: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %c508 = arith.constant 508 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %ks = memref.alloc() : !Tile
    %vs = memref.alloc() : !Tile
    %mirror = arith.subi %c508, %mine : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %query = vector.load %q[%mine] {alignment = 16 : i64} : !Global, vector<4xf32>
    %sum = scf.for %i = %c0 to %c12288 step %c512 iter_args(%before = %zero) -> (vector<4xf32>) {
      %at = arith.addi %i, %mine : index
      %ck = nvgpu.device_async_copy %k[%at], %ks[%mine], 4 : !Global to !Tile
      %gk = nvgpu.device_async_create_group %ck
      %cv = nvgpu.device_async_copy %v[%at], %vs[%mine], 4 : !Global to !Tile
      %gv = nvgpu.device_async_create_group %cv
      nvgpu.device_async_wait %gk
      gpu.barrier
      %score = scf.for %j = %c0 to %c64 step %c4 iter_args(%so_far = %zero) -> (vector<4xf32>) {
        %from = arith.addi %mirror, %j : index
        %in = arith.remui %from, %c512 : index
        %key = vector.load %ks[%in] {alignment = 16 : i64} : !Tile, vector<4xf32>
        %with = math.fma %query, %key, %so_far : vector<4xf32>
        scf.yield %with : vector<4xf32>
      }
      nvgpu.device_async_wait %gv
      gpu.barrier
      %after = scf.for %j = %c0 to %c64 step %c4 iter_args(%so_far = %before) -> (vector<4xf32>) {
        %from = arith.addi %mirror, %j : index
        %in = arith.remui %from, %c512 : index
        %value = vector.load %vs[%in] {alignment = 16 : i64} : !Tile, vector<4xf32>
        %with = math.fma %score, %value, %so_far : vector<4xf32>
        scf.yield %with : vector<4xf32>
      }
      gpu.barrier
      scf.yield %after : vector<4xf32>
    } {async.num_stages = 4 : i64}
    vector.store %sum, %out[%mine] {alignment = 16 : i64} : !Global, vector<4xf32>
    gpu.return
  }
}
