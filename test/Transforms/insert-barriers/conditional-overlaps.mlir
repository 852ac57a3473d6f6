// RUN: async-opt %s --gpux-insert-barriers --split-input-file --verify-diagnostics -o /dev/null

// Accesses that meet what is not complete. Conditions are taken to be independent of each other; where several have to agree,
// perhaps they never do, and that is a warning.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // One condition: it holds at some time, or it would not be there.
  gpu.func @one_condition(%c: i1, %in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    // expected-note @+1 {{the other access, which is not complete: await its token before}}
    %token = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
    scf.if %c {
      // expected-error @+1 {{accesses memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
      %v = memref.load %s[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
    }
    async.await %token
    gpu.return
  }
}

// -----

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The copy and the read are in one arm: that is one condition, too.
  gpu.func @in_one_arm(%c: i1, %in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.if %c {
      // expected-note @+1 {{the other access, which is not complete: await its token before}}
      %token = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
      // expected-error @+1 {{accesses memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
      %v = memref.load %s[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
      async.await %token
    }
    gpu.return
  }
}

// -----

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The tile is read where it has not been copied.
  gpu.func @two_conditions(%c: i1, %d: i1, %in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %token = scf.if %c -> !async.token {
      // expected-note @+1 {{the other access, which is not complete if the conditions on the way agree: await its token where they do}}
      %new = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
      scf.yield %new : !async.token
    } else {
      %none = async.ready
      scf.yield %none : !async.token
    }
    scf.if %d {
      // expected-warning @+1 {{may access memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
      %v = memref.load %s[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
    }
    async.await %token
    gpu.return
  }
}

// -----

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Perhaps there is always an iteration, which awaits the copy.
  // expected-remark @+1 {{dropped 0 barriers, inserted 1}}
  gpu.func @no_iteration(%n: index, %in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    // expected-note @+1 {{the other access, which is not complete if the conditions on the way agree: await its token where they do}}
    %token = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
    scf.for %i = %c0 to %n step %c1 {
      async.await %token
    }
    // expected-warning @+1 {{may access memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // From one iteration to the next it takes no condition.
  gpu.func @next_iteration(%n: index, %in: memref<64xf32>, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %none = async.ready
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%token = %none) -> !async.token {
      // expected-error @+1 {{accesses memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
      %v = memref.load %s[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
      async.await %token
      // expected-note @+1 {{the other access, which is not complete: await its token before}}
      %next = gpux.copy async %in[%t], %s[%t], 1 : memref<64xf32> to !row
      scf.yield %next : !async.token
    }
    async.await %last
    gpu.return
  }
}

// -----

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Half of the threads write under one condition, the others read under another.
  gpu.func @conditions_of_threads_apart(%c: i1, %d: i1, %x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %low = arith.cmpi ult, %t, %c32 : index
    scf.if %low {
      scf.if %c {
        // expected-note @+1 {{the other access: threads take different ways to the two; move one of them to where all threads come by}}
        memref.store %x, %s[%t] : !row
      }
    } else {
      scf.if %d {
        // expected-warning @+1 {{may access memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
        %v = memref.load %s[%mirrored] : !row
        memref.store %v, %out[%t] : memref<64xf32>
      }
    }
    gpu.return
  }
}
