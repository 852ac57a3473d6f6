// Two tiles, each in a group of its own, awaited one after the other.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @bench {
  gpu.func @two_groups(%a: !Global, %b: !Global, %out: !Global, %out2: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c508 = arith.constant 508 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %as = memref.alloc() : !Tile
    %bs = memref.alloc() : !Tile
    %mirror = arith.subi %c508, %mine : index
    scf.for %i = %c0 to %c12288 step %c512 {
      %at = arith.addi %i, %mine : index
      %ca = nvgpu.device_async_copy %a[%at], %as[%mine], 4 : !Global to !Tile
      %ga = nvgpu.device_async_create_group %ca
      %cb = nvgpu.device_async_copy %b[%at], %bs[%mine], 4 : !Global to !Tile
      %gb = nvgpu.device_async_create_group %cb
      nvgpu.device_async_wait %ga
      gpu.barrier
      %v = vector.load %as[%mirror] {alignment = 16 : i64} : !Tile, vector<4xf32>
      vector.store %v, %out[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
      nvgpu.device_async_wait %gb
      gpu.barrier
      %w = vector.load %bs[%mirror] {alignment = 16 : i64} : !Tile, vector<4xf32>
      vector.store %w, %out2[%at] {alignment = 16 : i64} : !Global, vector<4xf32>
      gpu.barrier
    } {async.num_stages = 4 : i64}
    gpu.return
  }
}
