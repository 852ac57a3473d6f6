// The result of an iteration leaves by an asynchronous store from a tile that is used again: two of them in turn.
!Global = memref<?xf32>
!Tile = memref<512xf32, #gpu.address_space<workgroup>>
!Part = memref<512xf32, strided<[1], offset: ?>>

gpu.module @bench {
  gpu.func @store(%in: !Global, %out: !Global) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c508 = arith.constant 508 : index
    %c512 = arith.constant 512 : index
    %c12288 = arith.constant 12288 : index
    %t = gpu.thread_id x
    %mine = arith.muli %t, %c4 : index
    %mirror = arith.subi %c508, %mine : index
    %tile = memref.alloc() : !Tile
    %result = memref.alloc() : !Tile
    scf.for %i = %c0 to %c12288 step %c512 {
      %at = arith.addi %i, %mine : index
      %copy = gpux.copy async %in[%at], %tile[%mine], 4 {async.stage = 0, async.order = 1} : !Global to !Tile
      async.await %copy {async.stage = 3, async.order = 0}
      %x = vector.load %tile[%mirror] {alignment = 16 : i64, async.stage = 3, async.order = 2} : !Tile, vector<4xf32>
      %twice = arith.addf %x, %x {async.stage = 3, async.order = 2} : vector<4xf32>
      vector.store %twice, %result[%mine] {alignment = 16 : i64, async.stage = 3, async.order = 2} : !Tile, vector<4xf32>
      %to = memref.subview %out[%i] [512] [1] {async.stage = 3, async.order = 3} : !Global to !Part
      %read, %written = gpux.bulk_store async %result, %to {async.stage = 3, async.order = 3} : !Tile to !Part
      async.await %read {async.stage = 4, async.order = 4}
      async.await %written {async.stage = 6, async.order = 5}
    }
    gpu.return
  }
}
