// RUN: async-opt %s --split-input-file --verify-diagnostics --async-pipeline -o /dev/null

// A barrier that may order memory that is not the workgroup's stays where it is: an error says which accesses it is for.

gpu.module @m {
  // expected-note @+1 {{a block may have up to 1024 threads, as far as is known; if it has fewer, say so by known_block_size}}
  gpu.func @global(%in: memref<?xf32>, %g: memref<?xf32>, %n: index) workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.for %i = %c0 to %n step %c1 {
      %token = gpux.copy async %in[%t], %s[%t], 1 {async.stage = 0, async.order = 0} : memref<?xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      async.await %token {async.stage = 1, async.order = 1}
      // expected-note @+2 {{what comes first; give it an earlier stage or order, or the other one a later one}}
      // expected-note @+1 {{the barrier stays, since it may order this access}}
      %v = memref.load %g[%mirrored] {async.stage = 1, async.order = 4} : memref<?xf32>
      // expected-error @+1 {{may access the same memory, but the schedule executes this one first}}
      gpu.barrier {async.stage = 0, async.order = 2}
      // expected-note @+1 {{with this one, of another thread}}
      memref.store %v, %g[%t] {async.stage = 1, async.order = 5} : memref<?xf32>
    }
    gpu.return
  }
}
