// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline

gpu.module @m {
  gpu.func @same_order(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{this one; orders are unique}}
      %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
      // expected-error @below {{has order 0, which an operation of stage 0 has, too}}
      memref.store %v, %out[%i] {async.stage = 1, async.order = 0} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @consumer_in_an_earlier_stage(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{defined here; give it an earlier stage or order, or the other one a later one}}
      %v = memref.load %in[%i] {async.stage = 1, async.order = 0} : memref<8xf32>
      // expected-error @below {{is in stage 0, order 1, but needs what is defined in stage 1, order 0}}
      memref.store %v, %out[%i] {async.stage = 0, async.order = 1} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @consumer_before_its_producer(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{defined here}}
      %v = memref.load %in[%i] {async.stage = 0, async.order = 1} : memref<8xf32>
      // expected-error @below {{is in stage 0, order 0, but needs what is defined in stage 0, order 1}}
      memref.store %v, %out[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_stage(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
      // expected-error @below {{has no 'async.stage', as others of the loop have, and may have side effects}}
      // expected-note @below {{give it 'async.stage' and 'async.order'}}
      memref.store %v, %out[%i] : memref<8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_order(%in: memref<8xf32>, %out: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{has 'async.stage', but no 'async.order'}}
      %v = memref.load %in[%i] {async.stage = 0} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @both_ways(%in: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{has 'async.num_stages', but an operation of its body has a stage of its own}}
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{remove the one or the other}}
      %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
    } {async.num_stages = 2}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_such_stage(%in: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{has stage 3 in 'async.async_stages', but no operation of its body has that stage}}
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %in[%i] {async.stage = 0, async.order = 0} : memref<8xf32>
    } {async.async_stages = [3]}
    gpu.return
  }
}

// -----

// What is read in an iteration was written in the one before.

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @carried_through_memory(%in: memref<?xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    // expected-note @below {{iterations can't have versions of this buffer: the loop reads it before it writes it}}
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{may access the same memory, but the schedule executes this one first}}
      %v = memref.load %tile[%t] {async.stage = 0, async.order = 0} : !Tile
      // expected-note @below {{what comes first an iteration before}}
      memref.store %v, %tile[%t] {async.stage = 2, async.order = 1} : !Tile
    }
    gpu.return
  }
}

// -----

!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  gpu.func @never_awaited(%in: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %tile = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{is never awaited in this loop, so its buffer can't be used again}}
      // expected-note @below {{await its token in the loop}}
      %token = gpux.copy async %in[%t], %tile[%t], 1 {async.stage = 0, async.order = 0} : memref<?xf32> to !Tile
      %v = memref.load %tile[%t] {async.stage = 1, async.order = 1} : !Tile
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @too_many_stages(%in: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{has 2000000000 stages, but at most 64 are possible}}
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %in[%i] : memref<8xf32>
    } {async.num_stages = 2000000000}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @stage_too_late(%in: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{has stage 2147483647, but the last one possible is 63}}
      %v = memref.load %in[%i] {async.stage = 2147483647, async.order = 0} : memref<8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @too_many_versions(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{4 versions of 65536 bytes}}
    %s = memref.alloc() : memref<16384xf32, #gpu.address_space<workgroup>>
    // expected-error @below {{needs 262144 bytes for the versions of its buffers, but a block has at most 166912 on sm_80}}
    // expected-note @below {{use fewer stages or smaller tiles; 'memory=fewer-stages' uses as many stages as fit}}
    scf.for %i = %c0 to %n step %c1 {
      %copy = gpux.copy async %a[%i], %s[%c0], 1 : memref<?xf32> to memref<16384xf32, #gpu.address_space<workgroup>>
      async.await %copy
      %x = memref.load %s[%c0] : memref<16384xf32, #gpu.address_space<workgroup>>
      memref.store %x, %c[%i] : memref<?xf32>
    } {async.num_stages = 4}
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_86">] {
  gpu.func @too_many_versions_of_two_buffers(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{3 versions of 40000 bytes}}
    %s = memref.alloc() : memref<10000xf32, #gpu.address_space<workgroup>>
    // expected-note @below {{2 versions of 40000 bytes}}
    %r = memref.alloc() : memref<10000xf32, #gpu.address_space<workgroup>>
    // expected-error @below {{needs 200000 bytes for the versions of its buffers, but a block has at most 101376 on sm_86}}
    // expected-note @below {{use fewer stages}}
    scf.for %i = %c0 to %n step %c1 {
      %copy = gpux.copy async %a[%i], %s[%c0], 1 {async.stage = 0, async.order = 0} : memref<?xf32> to memref<10000xf32, #gpu.address_space<workgroup>>
      %other = gpux.copy async %a[%i], %r[%c0], 1 {async.stage = 1, async.order = 1} : memref<?xf32> to memref<10000xf32, #gpu.address_space<workgroup>>
      async.await %copy, %other {async.stage = 2, async.order = 2}
      %x = memref.load %s[%c0] {async.stage = 2, async.order = 2} : memref<10000xf32, #gpu.address_space<workgroup>>
      %y = memref.load %r[%c0] {async.stage = 2, async.order = 2} : memref<10000xf32, #gpu.address_space<workgroup>>
      %z = arith.addf %x, %y : f32
      memref.store %z, %c[%i] {async.stage = 2, async.order = 2} : memref<?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @parts_of_a_loop_that_is_not_pipelined(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{has stages and orders for the parts of a pipelined loop, but is not pipelined itself}}
      // expected-note @below {{give it one stage and one order, or its body stages, too}}
      scf.for %j = %c0 to %n step %c1 {
        %x = memref.load %a[%j] : memref<?xf32>
        memref.store %x, %c[%j] : memref<?xf32>
      } {async.stage = [0, 1, 1], async.order = [0, 2, 3]}
      memref.store %zero, %c[%i] {async.stage = 1, async.order = 1} : memref<?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @across_rounds_alone(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{has 'async.across_rounds', but nothing says how it is to be pipelined}}
      // expected-note @below {{give the loop 'async.num_stages', or its operations stages}}
      scf.for %j = %c0 to %n step %c1 {
        %x = memref.load %a[%j] : memref<?xf32>
        memref.store %x, %c[%j] : memref<?xf32>
      } {async.across_rounds}
    }
    gpu.return
  }
}

// -----

func.func @stage_in_a_branch(%n: index, %c: i1, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      // expected-error @+2 {{has 'async.stage', but is not directly in the body of an 'scf.for'}}
      // expected-note @+1 {{give it to the operation of the body that this one is in}}
      memref.store %i, %out[%i] {async.stage = 0, async.order = 0} : memref<?xindex>
    }
  }
  return
}

// -----

func.func @loop_of_another_kind(%out: memref<?xindex>) {
  // expected-remark @+1 {{is not pipelined: it has 'async.num_stages', but only an 'scf.for' can be}}
  affine.for %i = 0 to 4 {
    memref.store %i, %out[%i] : memref<?xindex>
  } {async.num_stages = 3}
  return
}

// -----

// A call may read what an await completes.
func.func private @read(memref<32xf32, 3>, index)

func.func @call_before_await(%in: memref<?xf32>, %tile: memref<32xf32, 3>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %from = arith.addi %k, %i {async.stage = 0, async.order = 0} : index
    %token = gpux.copy async %in[%from], %tile[%i], 1 {async.stage = 1, async.order = 1} : memref<?xf32> to memref<32xf32, 3>
    // expected-note @below {{what comes first}}
    async.await %token {async.stage = 1, async.order = 3}
    // expected-error @below {{may access the same memory, but the schedule executes this one first}}
    func.call @read(%tile, %i) {async.stage = 1, async.order = 2} : (memref<32xf32, 3>, index) -> ()
  }
  return
}

// -----

// A barrier of a warp orders accesses, too.
func.func @load_before_warp_barrier(%in: memref<?xf32>, %shared: memref<64xf32>, %out: memref<?xf32>, %i: index, %j: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %all = arith.constant -1 : i32
  scf.for %k = %c0 to %n step %c1 {
    %x = memref.load %in[%k] {async.stage = 0, async.order = 0} : memref<?xf32>
    memref.store %x, %shared[%i] {async.stage = 1, async.order = 1} : memref<64xf32>
    // expected-note @below {{what comes first}}
    "nvvm.bar.warp.sync"(%all) {async.stage = 1, async.order = 3} : (i32) -> ()
    // expected-error @below {{may access the same memory, but the schedule executes this one first}}
    %y = memref.load %shared[%j] {async.stage = 1, async.order = 2} : memref<64xf32>
    memref.store %y, %out[%k] {async.stage = 1, async.order = 4} : memref<?xf32>
  }
  return
}
