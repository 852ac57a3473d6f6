// What roles of warps can't have, each with what to do instead.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-tokens-to-mbarriers

// Only a kernel says how many warps there are to choose from.
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // expected-note @+1 {{write known_block_size = array<i32: N, 1, 1>, with N a multiple of 32, at the kernel}}
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel {
    // expected-error @+1 {{'gpux.bulk_load' op names the warp that issues it, which takes a kernel that says how many warps a block has}}
    %t = gpux.bulk_load async %x, %a {issuer = 0 : i32} : !line to !row
    async.await %t
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // expected-note @+1 {{known_block_size is here}}
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    // expected-error @+1 {{'gpux.bulk_load' op names a warp that issues it, but the block has 8, which are counted from 0}}
    %t = gpux.bulk_load async %x, %a {issuer = 8 : i32} : !line to !row
    async.await %t
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    // expected-note @+1 {{this load names the warp: write {issuer = 4 : i32} at both}}
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    async.await %t
    // expected-error @+1 {{'gpux.bulk_load' op has to be issued by warp 4, too: other warps can't yet issue loads of the same kernel}}
    %u = gpux.bulk_load async %x, %a : !line to !row
    async.await %u
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
      // expected-note @+2 {{use a named barrier for these 128 threads: nvvm.barrier id = %id number_of_threads = %threads, with an id from 1 to 15 that no other role uses}}
      // expected-error @+1 {{'gpu.barrier' op is a barrier of the whole block, but is executed by warps 0, 1, 2 and 3 alone}}
      gpu.barrier
    }
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %id = arith.constant 1 : i32
    %threads = arith.constant 64 : i32
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
      // expected-note @+2 {{it is passed when as many have come as it says}}
      // expected-error @+1 {{'nvvm.barrier' op is for 64 threads, but 128 come to barriers of its id: warps 0, 1, 2 and 3}}
      nvvm.barrier id = %id number_of_threads = %threads
    }
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %id = arith.constant 0 : i32
    %threads = arith.constant 128 : i32
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
      // expected-note @+2 {{0 is the barrier of the whole block}}
      // expected-error @+1 {{'nvvm.barrier' op is in a role, and needs an id of its own: a constant from 1 to 15}}
      nvvm.barrier id = %id number_of_threads = %threads
    }
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %c6 = arith.constant 6 : index
    %loads = arith.cmpi uge, %warp, %c6 : index
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
    }
    scf.if %loads {
      // expected-note @+2 {{a warpgroup is four warps, the first of which is a multiple of four: let the role be of these}}
      // expected-error @+1 {{'nvvm.setmaxregister' op has to be executed by whole warpgroups, but is by warps 6 and 7 alone}}
      nvvm.setmaxregister decrease 40
    }
    gpu.return
  }
}

// -----

// 128 threads with 256 registers, and 256 that keep 168.
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    scf.if %first {
      // expected-note @+2 {{ask for fewer, or let other warps give back more; a warp that asks for nothing keeps what it starts with}}
      // expected-error @+1 {{'nvvm.setmaxregister' op waits for ever: all warps together ask for 75776 registers, but the block starts with 64512, 168 for each thread}}
      nvvm.setmaxregister increase 256
    }
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
    }
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    %ready = async.ready
    // expected-note @+2 {{await the token itself, in each role that needs the load}}
    // expected-error @+1 {{'scf.if' op passes on the token of a load, of which warps of other roles then know nothing}}
    %u = scf.if %first -> (!async.token) {
      scf.yield %t : !async.token
    } else {
      scf.yield %ready : !async.token
    }
    async.await %u
    gpu.return
  }
}

// -----

// In the second iteration, a warp that is ahead would take the end of the load before for that of its own.
!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
      %even = arith.andi %i, %c1 : index
      %is_even = arith.cmpi eq, %even, %c0 : index
      scf.if %is_even {
        scf.if %first {
          // expected-error @+2 {{'async.await' op awaits some loads of a ring, but its warps don't await all of them on every path}}
          // expected-note @+1 {{a warp that awaits one of the tokens that a loop hands on has to await all: those that are left after the loop, too, and under no other condition than its role}}
          async.await %t
        }
      }
    }
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @kernel(%x: !line, %y: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
      // expected-note @+2 {{move it after what is for some warps only, where all come together again}}
      // expected-error @+1 {{'gpux.bulk_store' op is executed by all threads of the block, but is in a role of some warps}}
      %read, %done = gpux.bulk_store async %a, %y : !row to !line
      async.await %done
    }
    gpu.return
  }
}

// -----

!line = memref<64xf32>
!row = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  // expected-note @+1 {{write nvvm.minctasm = 1 : i32 or nvvm.maxnreg at the kernel}}
  gpu.func @kernel(%x: !line) workgroup(%a: !row) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %t = gpux.bulk_load async %x, %a {issuer = 4 : i32} : !line to !row
    scf.if %first {
      async.await %t
      // expected-warning @+1 {{ptxas ignores this: it does not know how many registers the kernel starts with}}
      nvvm.setmaxregister increase 248
    }
    gpu.return
  }
}
