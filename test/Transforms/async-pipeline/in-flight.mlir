// What is in flight where a loop is entered, and awaited in it: what comes after that await stays there. A loop in which the
// transfers would overtake it is left alone.
//
// RUN: async-opt %s --split-input-file --async-pipeline --verify-diagnostics

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // By a token that the loop is handed.
  gpu.func @carried_token(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    %pre = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
    // expected-remark @below {{is not pipelined}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %pre) -> (!async.token) {
      // expected-note @below {{it is awaited here; await it before the loop}}
      async.await %t
      // expected-note @below {{may access memory that is still in use where the loop is entered, but the schedule executes this before the await of that}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
      scf.yield %u : !async.token
    } {async.num_stages = 3}
    async.await %last
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // By counted groups: in the first iteration, the older of two is one from before the loop.
  gpu.func @counted_groups(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    %r = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    gpux.copy %a[%c0], %s[%c0], 1 : !g to !s
    gpux.commit_group <cp_async>
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      gpux.copy %a[%i], %r[%c0], 1 : !g to !s
      gpux.commit_group <cp_async>
      // expected-note @below {{it is awaited here; await it before the loop}}
      gpux.wait_group <cp_async>, 1
      // expected-note @below {{may access memory that is still in use where the loop is entered, but the schedule executes this before the await of that}}
      gpux.copy %a[%i], %s[%c0], 1 : !g to !s
      gpux.commit_group <cp_async>
      gpux.wait_group <cp_async>, 0
      %x = memref.load %s[%c0] : !s
      %y = memref.load %r[%c0] : !s
      %z = arith.addf %x, %y : f32
      memref.store %z, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // The loop need not be handed it.
  gpu.func @token_from_outside(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    %pre = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{it is awaited here}}
      async.await %pre
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // Tokens that change places: that of the second copy comes to the await in the second iteration, which copies to the same place.
  gpu.func @rotating_tokens(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    %r = memref.alloc() : !s
    %first = gpux.copy async %a[%c0], %r[%c0], 1 : !g to !s
    // expected-note @below {{what uses it}}
    %second = gpux.copy async %a[%c0], %s[%c1], 1 : !g to !s
    %none = async.ready
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 iter_args(%t = %first, %u = %second) -> (!async.token, !async.token) {
      // expected-note @below {{it is awaited here}}
      async.await %t
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %v = gpux.copy async %a[%i], %s[%i], 1 : !g to !s
      async.await %v
      %x = memref.load %s[%i] : !s
      memref.store %x, %o[%i] : !g
      scf.yield %u, %none : !async.token, !async.token
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // Awaited in some iterations only.
  gpu.func @awaited_sometimes(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    %pre = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      %first = arith.cmpi eq, %i, %c0 : index
      scf.if %first {
        // expected-note @below {{it is awaited here}}
        async.await %pre
      }
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
!i = memref<64xi32>
!w = memref<64xi32, #gpu.address_space<workgroup>>
gpu.module @m {
  // Where to copy from is read early, but not before it is there.
  gpu.func @read_too_early(%a: !g, %places: !i, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    %w = memref.alloc() : !w
    // expected-note @below {{what uses it}}
    %pre = gpux.copy async %places[%c0], %w[%c0], 1 : !i to !w
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{it is awaited here}}
      async.await %pre
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %place = memref.load %w[%c0] : !w
      %from = arith.index_cast %place : i32 to index
      %u = gpux.copy async %a[%from], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // A store that still reads what the loop overwrites.
  gpu.func @store_still_reads(%a: !g, %n: index, %o: !g, %out: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    %read, %written = gpux.bulk_store async %s, %out : !s to !g
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{it is awaited here}}
      async.await %read
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
    } {async.num_stages = 3}
    async.await %written
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // An outer loop hands on what the inner one has copied last.
  gpu.func @from_an_earlier_round(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    %r = memref.alloc() : !s
    %none = async.ready
    %end = scf.for %round = %c0 to %n step %c1 iter_args(%before = %none) -> (!async.token) {
      // expected-remark @below {{is not pipelined}}
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %before) -> (!async.token) {
        // expected-note @below {{it is awaited here}}
        async.await %t
        // expected-note @below {{what uses it}}
        // expected-note @below {{may access memory that is still in use where the loop is entered}}
        %u = gpux.copy async %a[%i], %s[%i], 1 : !g to !s
        %v = gpux.copy async %a[%i], %r[%c0], 1 : !g to !s
        async.await %v
        %x = memref.load %r[%c0] : !s
        memref.store %x, %o[%i] : !g
        scf.yield %u : !async.token
      } {async.num_stages = 3}
      scf.yield %last : !async.token
    }
    async.await %end
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
!Map = !nvgpu.tensormap.descriptor<tensor = memref<64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @m {
  // Of two engines: a load that completes on an mbarrier, and a copy.
  gpu.func @load_on_an_mbarrier(%map: !Map, %a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    %pre = gpux.tma_load async %map[%c0], %s : !Map, !s
    // expected-remark @below {{is not pipelined}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %pre) -> (!async.token) {
      // expected-note @below {{it is awaited here}}
      async.await %t
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
      scf.yield %u : !async.token
    } {async.num_stages = 3}
    async.await %last
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
// What a caller's token stands for is not known.
func.func @token_of_a_caller(%token: !async.token, %a: !g, %n: index, %o: !g) attributes {gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = memref.alloc() : !s
  // expected-remark @below {{is not pipelined}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-note @below {{it is awaited here}}
    async.await %token
    // expected-note @below {{may access memory that is still in use where the loop is entered}}
    %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
    async.await %u
    %x = memref.load %s[%c0] : !s
    memref.store %x, %o[%i] : !g
  } {async.num_stages = 3}
  return
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // The same within an iteration: the second copy is to the same place.
  gpu.func @twice_to_one_place(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-remark @below {{is not pipelined}}
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{what comes first}}
      %t = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
      async.await %t
      // expected-note @below {{may access the same memory, but the schedule executes this one first}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 : !g to !s
      async.await %u
      %x = memref.load %s[%c0] : !s
      memref.store %x, %o[%i] : !g
    } {async.num_stages = 3}
    gpu.return
  }
}

// -----

!g = memref<64xf32>
!s = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // A loop that says itself where the await is.
  gpu.func @scheduled(%a: !g, %n: index, %o: !g) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !s
    // expected-note @below {{what uses it}}
    %pre = gpux.copy async %a[%c0], %s[%c0], 1 : !g to !s
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @below {{it is awaited here}}
      async.await %pre {async.stage = 1, async.order = 1}
      // expected-error @below {{may access memory that is still in use where the loop is entered}}
      %u = gpux.copy async %a[%i], %s[%c0], 1 {async.stage = 0, async.order = 0} : !g to !s
      async.await %u {async.stage = 1, async.order = 2}
      %x = memref.load %s[%c0] {async.stage = 1, async.order = 3} : !s
      memref.store %x, %o[%i] {async.stage = 1, async.order = 3} : !g
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!matrix = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
gpu.module @m {
  // A multiplication that still reads the tile.
  gpu.func @multiplication_still_reads(%map: !map, %n: index, %out: memref<64x64xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = memref.alloc() : !tile
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %before = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
    // expected-note @below {{what uses it}}
    %d, %m = gpux.wgmma async %before, %before, %zero {transposeB} : !matrix, !matrix, !acc
    // expected-remark @below {{is not pipelined}}
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %d) -> (!acc) {
      // expected-note @below {{it is awaited here}}
      async.await %m
      // expected-note @below {{may access memory that is still in use where the loop is entered}}
      %t = gpux.tma_load async %map[%c0, %c0], %as : !map, !tile
      async.await %t
      %a = nvgpu.warpgroup.generate.descriptor %as, %map : !tile, !map -> !matrix
      %more, %u = gpux.wgmma async %a, %a, %sum {transposeB} : !matrix, !matrix, !acc
      async.await %u
      scf.yield %more : !acc
    } {async.num_stages = 3}
    nvgpu.warpgroup.mma.store %all, %out : !acc to memref<64x64xf32>
    gpu.return
  }
}
