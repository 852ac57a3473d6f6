// Roles that somebody wrote, without loads that name a warp, obey the same rules: no more registers than there are, no barrier of the
// block for some warps, no warps that end while others wait for them.
//
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-split-roles
// RUN: sed '/expected.*ptxas ignores/d; /expected.*write nvvm.minctasm/d' %s | async-opt --split-input-file --verify-diagnostics --gpux-to-nvvm
// RUN: async-opt %s --split-input-file --verify-diagnostics --gpux-lower-to-nvvm="chip=sm_90a format=llvm"

// 232 + 240 + 240 for three warpgroups, which start with 168 each.
gpu.module @m {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    scf.if %first {
      nvvm.setmaxregister increase 232
    } else {
      // expected-note @+2 {{ask for fewer, or let other warps give back more; a warp that asks for nothing keeps what it starts with}}
      // expected-error @+1 {{'nvvm.setmaxregister' op waits for ever: all warps together ask for 91136 registers, but the block starts with 64512, 168 for each thread}}
      nvvm.setmaxregister increase 240
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%out: memref<256xf32>, %v: f32) workgroup(%a: memref<256xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c4 = arith.constant 4 : index
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    scf.if %first {
      memref.store %v, %a[%thread] : memref<256xf32, #gpu.address_space<workgroup>>
      // expected-note @+2 {{use a named barrier for these 128 threads: nvvm.barrier id = %id number_of_threads = %threads, with an id from 1 to 15 that no other role uses}}
      // expected-error @+1 {{'gpu.barrier' op is a barrier of the whole block, but is executed by warps 0, 1, 2 and 3 alone}}
      gpu.barrier
      %w = memref.load %a[%c4] : memref<256xf32, #gpu.address_space<workgroup>>
      memref.store %w, %out[%thread] : memref<256xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%out: memref<256xf32>, %v: f32) workgroup(%a: memref<256xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c4 = arith.constant 4 : index
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %others = arith.cmpi uge, %warp, %c4 : index
    scf.if %others {
      // expected-note @+2 {{let roles come together again before any of them ends: put what is for other warps into an scf.if instead}}
      // expected-error @+1 {{'nvvm.exit' op ends warps 4, 5, 6 and 7, but the threads of the block meet later on}}
      nvvm.exit
    }
    memref.store %v, %a[%thread] : memref<256xf32, #gpu.address_space<workgroup>>
    // expected-note @+1 {{'gpu.barrier' is executed by all of them}}
    gpu.barrier
    %w = memref.load %a[%c4] : memref<256xf32, #gpu.address_space<workgroup>>
    memref.store %w, %out[%thread] : memref<256xf32>
    gpu.return
  }
}

// -----

// ptxas takes such a decrease for an error: the kernel starts with the 24 registers of the increase.
gpu.module @m {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 256, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c4 = arith.constant 4 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    scf.if %first {
      // expected-note @+2 {{a decrease gives registers back, an increase takes them}}
      // expected-error @+1 {{'nvvm.setmaxregister' op can't leave 232 registers: no thread has more than 24 before}}
      nvvm.setmaxregister decrease 232
    } else {
      // expected-note @+1 {{no increase asks for more, and a kernel starts with no more than the largest increase asks for}}
      nvvm.setmaxregister increase 24
    }
    gpu.return
  }
}

// -----

// 168 registers of 384 threads are all that there are.
gpu.module @m {
  // expected-note @+1 {{a thread starts with as many as this says, or as its part of a multiprocessor}}
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32} {
    // expected-note @+2 {{a decrease gives registers back, an increase takes them}}
    // expected-error @+1 {{'nvvm.setmaxregister' op can't leave 176 registers: no thread has more than 168 before}}
    nvvm.setmaxregister decrease 176
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-note @+1 {{write nvvm.minctasm = 1 : i32 or nvvm.maxnreg at the kernel}}
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-warning @+1 {{ptxas ignores this: it does not know how many registers the kernel starts with}}
    nvvm.setmaxregister increase 240
    gpu.return
  }
}

// -----

// Nothing is certainly wrong here: an increase that may not be executed, an id that is computed, and an end after which nobody waits.
gpu.module @m {
  gpu.func @kernel(%out: memref<256xf32>, %v: f32, %many: i1) workgroup(%a: memref<256xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, nvvm.maxnreg = 128 : i32} {
    %c4 = arith.constant 4 : index
    %thread = gpu.thread_id x
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c4 : index
    %group = arith.divui %warp, %c4 : index
    %id = arith.index_cast %group : index to i32
    %threads = arith.constant 128 : i32
    scf.if %many {
      nvvm.setmaxregister increase 256
    }
    gpu.barrier
    scf.if %first {
      memref.store %v, %a[%thread] : memref<256xf32, #gpu.address_space<workgroup>>
      nvvm.barrier id = %id number_of_threads = %threads
      %w = memref.load %a[%c4] : memref<256xf32, #gpu.address_space<workgroup>>
      memref.store %w, %out[%thread] : memref<256xf32>
      nvvm.exit
    }
    memref.store %v, %out[%thread] : memref<256xf32>
    gpu.return
  }
}

// -----

// 64 threads never come: the others don't know of this barrier.
gpu.module @m {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    %id = arith.constant 1 : i32
    scf.if %first {
      // expected-note @+2 {{it is passed when as many have come as it says}}
      // expected-error @+1 {{'nvvm.barrier' op is for all threads of the block, but 64 come to barriers of its id: warps 0 and 1}}
      nvvm.barrier id = %id
    }
    gpu.return
  }
}

// -----

// Warps may come to a barrier in different places, arrive there without waiting, and use an id for fewer threads first.
gpu.module @m {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c2 : index
    %id = arith.constant 1 : i32
    %other = arith.constant 2 : i32
    %half = arith.constant 64 : i32
    %all = arith.constant 128 : i32
    scf.if %first {
      nvvm.barrier id = %id number_of_threads = %half
      nvvm.barrier id = %id
      nvvm.barrier id = %other number_of_threads = %all
    } else {
      nvvm.barrier id = %id
      nvvm.barrier.arrive id = %other number_of_threads = %all
    }
    gpu.return
  }
}
