// RUN: async-opt %s --split-input-file --async-pipeline --verify-diagnostics -o /dev/null

// A hand-written wait that leaves a group too many in flight: the tile that is read is still being copied, before the loop is
// pipelined and after that.

!Tile = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // expected-remark @below {{block barriers}}
  gpu.func @weak_wait(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %tile = memref.alloc() : !Tile
    // expected-remark @below {{pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      %first = arith.muli %i, %c64 : index
      %from = arith.addi %first, %t : index
      // expected-note @below {{the copy; await it before it is read, or with a smaller count}}
      gpux.copy %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 1
      gpu.barrier
      // expected-warning @below {{reads what is still being copied: no wait between completes the copy}}
      %v = memref.load %tile[%mirrored] : !Tile
      memref.store %v, %out[%from] : memref<?xf32>
      gpu.barrier
    } {async.num_stages = 2}
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}

// -----

// Another half of the buffer is read, and the same half later, after its copy.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @halves(%in: memref<?xf32>, %out: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %second = arith.addi %t, %c64 : index
    %tile = memref.alloc() : !Tile
    // expected-remark @below {{pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      %first = arith.muli %i, %c64 : index
      %from = arith.addi %first, %t : index
      %a = gpux.copy async %in[%from], %tile[%t], 1 : memref<?xf32> to !Tile
      %b = gpux.copy async %in[%from], %tile[%second], 1 : memref<?xf32> to !Tile
      async.await %a
      %v = memref.load %tile[%t] : !Tile
      async.await %b
      %w = memref.load %tile[%second] : !Tile
      %sum = arith.addf %v, %w : f32
      memref.store %sum, %out[%from] : memref<?xf32>
    } {async.num_stages = 2}
    gpu.return
  }
}
