// What upstream's vocabulary can't say.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline=emit=nvgpu

!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// Bulk copies complete on mbarriers.
gpu.module @m {
  gpu.func @other_engine(%in: memref<32xf32>, %out: memref<1024xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c1024 = arith.constant 1024 : index
    %t = gpu.thread_id x
    %a = memref.alloc() {alignment = 128} : !Tile
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stage 1}}
    scf.for %i = %c0 to %c1024 step %c32 {
      // expected-error @below {{has no form in nvgpu}}
      // expected-note @below {{emit=gpux keeps it in token form}}
      %copy = gpux.bulk_load async %in, %a {async.stage = 0, async.order = 0} : memref<32xf32> to !Tile
      async.await %copy {async.stage = 1, async.order = 1}
      %x = memref.load %a[%t] {async.stage = 1, async.order = 1} : !Tile
      %at = arith.addi %i, %t : index
      memref.store %x, %out[%at] {async.stage = 1, async.order = 1} : memref<1024xf32>
    }
    gpu.return
  }
}

// -----

!Tile = memref<32xf32, #gpu.address_space<workgroup>>

// A token of nvgpu is that of one group. Which of two that a loop carries is the younger one is not known in general.
gpu.module @m {
  gpu.func @joined(%in: memref<1024xf32>, %out: memref<1024xf32>, %c: i1) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c1024 = arith.constant 1024 : index
    %t = gpu.thread_id x
    %a = memref.alloc() : !Tile
    %b = memref.alloc() : !Tile
    %first = gpux.copy async %in[%t], %b[%t], 1 : memref<1024xf32> to !Tile
    // expected-remark @+1 {{pipelined: 1 transfer in stage 0, the rest in stage 1}}
    %second = scf.for %i = %c0 to %c1024 step %c32 iter_args(%before = %first) -> (!async.token) {
      %copy = gpux.copy async %in[%i], %a[%t], 1 {async.stage = 0, async.order = 0} : memref<1024xf32> to !Tile
      async.await %copy {async.stage = 1, async.order = 1}
      %x = memref.load %a[%t] {async.stage = 1, async.order = 1} : !Tile
      %at = arith.addi %i, %t : index
      memref.store %x, %out[%at] {async.stage = 1, async.order = 1} : memref<1024xf32>
      scf.yield %before : !async.token
    }
    %either = scf.if %c -> !async.token {
      // expected-error @below {{joins tokens of which it is not known which group is made last}}
      // expected-note @below {{emit=gpux keeps it in token form}}
      %both = async.join %first, %second
      scf.yield %both : !async.token
    } else {
      scf.yield %first : !async.token
    }
    async.await %either
    gpu.return
  }
}
