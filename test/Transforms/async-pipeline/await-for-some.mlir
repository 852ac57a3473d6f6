// A load that is awaited, but not by all threads in each iteration: what is missing is said, not that there is no await.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline=chip=sm_90a

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// The number of a warp is compared with what only the caller knows.
gpu.module @m {
  gpu.func @unknown_warps(%x: memref<?x32xf32>, %seen: memref<?xf32>, %n: index, %warps: index) workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @+1 {{this differs between threads}}
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %warps : index
    // expected-remark @+1 {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      // expected-note @+1 {{'gpux.bulk_load' op is awaited by some threads alone, and it is not known by which warps, so its buffer can't be used again}}
      %t = gpux.bulk_load async %from, %tile {issuer = 1 : i32} : !Row to !Tile
      // expected-note @+1 {{threads part here: compare the number of a warp with a constant, in a kernel that says which warps a block has (known_block_size)}}
      scf.if %reads {
        async.await %t
        %v = memref.load %tile[%c0] : !Tile
        memref.store %v, %seen[%i] : memref<?xf32>
      }
    } {async.num_stages = 2}
    gpu.return
  }
}

// -----

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @under_condition(%x: memref<?x32xf32>, %seen: memref<?xf32>, %n: index, %waits: i1) workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c1 : index
    // expected-remark @+1 {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      // expected-note @+1 {{'gpux.bulk_load' op is not awaited in each iteration of this loop, so its buffer can't be used again}}
      %t = gpux.bulk_load async %from, %tile {issuer = 1 : i32} : !Row to !Tile
      scf.if %reads {
        scf.if %waits {
          // expected-note @+1 {{it is awaited here, in an 'scf.if' that may not execute this: await it in each iteration, under no other condition than a role}}
          async.await %t
        }
        %v = memref.load %tile[%c0] : !Tile
        memref.store %v, %seen[%i] : memref<?xf32>
      }
    } {async.num_stages = 2}
    gpu.return
  }
}

// -----

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @no_issuer(%x: memref<?x32xf32>, %seen: memref<?xf32>, %n: index) workgroup(%tile: !Tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %c1 : index
    // expected-remark @+1 {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      // expected-note @+2 {{name it at each load of the loop, such as {issuer = 4 : i32} for warp 4; or else await the load outside of the 'scf.if', in all warps}}
      // expected-note @+1 {{'gpux.bulk_load' op is awaited by some warps alone, but names no warp that issues it, so its buffer can't be used again}}
      %t = gpux.bulk_load async %from, %tile : !Row to !Tile
      scf.if %reads {
        // expected-note @+1 {{it is awaited here}}
        async.await %t
        %v = memref.load %tile[%c0] : !Tile
        memref.store %v, %seen[%i] : memref<?xf32>
      }
    } {async.num_stages = 2}
    gpu.return
  }
}
