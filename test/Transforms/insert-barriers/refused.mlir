// RUN: async-opt %s --gpux-insert-barriers --split-input-file --verify-diagnostics

!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @no_place(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      // expected-note @+1 {{the other access: threads take different ways to the two; move one of them to where all threads come by}}
      memref.store %x, %s[%c0] : !row
    } else {
      // expected-error @+1 {{accesses memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
      %v = memref.load %s[%c0] : !row
      memref.store %v, %out[%t] : memref<128xf32>
    }
    gpu.return
  }
}

// -----

!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @in_flight(%in: memref<128xf32>, %out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    // expected-note @+1 {{the other access, which is not complete: await its token before}}
    %token = gpux.copy async %in[%t], %s[%t], 1 : memref<128xf32> to !row
    // expected-error @+1 {{accesses memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    async.await %token
    gpu.return
  }
}

// -----

!row = memref<128xf32, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @kernels {
  // expected-remark @+1 {{has 'nvgpu.mbarrier.create', whose order of threads is not known here: its barriers stay}}
  gpu.func @mbarriers() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-note @+1 {{run --gpux-insert-barriers before tokens become mbarriers}}
    %m = nvgpu.mbarrier.create -> !ring
    gpu.barrier
    gpu.return
  }
}

// -----

!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // expected-remark @+2 {{is called, perhaps by some threads only: its barriers stay, and none is inserted}}
  // expected-note @+1 {{run --gpux-inline-calls first}}
  func.func private @helper(%s: !row, %out: memref<128xf32>) {
    %c127 = arith.constant 127 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    return
  }
}

// -----

!row = memref<128xf32, #gpu.address_space<workgroup>>

// expected-error @+2 {{has branches between blocks, between which barriers can't be placed}}
// expected-note @+1 {{run --lift-cf-to-scf first}}
func.func @blocks(%s: !row, %c: i1) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  gpu.barrier
  cf.br ^bb2
^bb2:
  return
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{has branches between blocks, between which barriers can't be placed}}
  // expected-note @+1 {{run --lift-cf-to-scf before kernels are outlined: it leaves a gpu.func as it is}}
  gpu.func @blocks(%c: i1) kernel {
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    gpu.barrier
    cf.br ^bb2
  ^bb2:
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{has blocks of 4096 x 1 x 1 threads, but a block has at most 1024}}
  // expected-note @+1 {{correct its known_block_size}}
  gpu.func @threads() kernel attributes {known_block_size = array<i32: 4096, 1, 1>} {
    gpu.return
  }
}

// -----

!row = memref<66xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // With more than 64 threads, thread 64 stores what thread 0 stores in its second iteration.
  // expected-remark @+2 {{dropped 0 barriers, inserted 1}}
  // expected-note @+1 {{a block may have up to 1024 threads, as far as is known; if it has fewer, say so by known_block_size}}
  gpu.func @unknown_block_size(%in: memref<66xf32>, %out: memref<66xf32>) workgroup(%s: !row) kernel {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c66 = arith.constant 66 : index
    %t = gpu.thread_id x
    %next = arith.addi %t, %c1 : index
    scf.for %h = %t to %c66 step %c64 {
      %x = memref.load %in[%h] : memref<66xf32>
      // expected-warning @+2 {{may access memory of the workgroup that another thread accesses at the same time, and no barrier can order the two}}
      // expected-note @+1 {{the other access: threads take different ways to the two; move one of them to where all threads come by}}
      memref.store %x, %s[%h] : !row
    }
    %v = memref.load %s[%next] : !row
    memref.store %v, %out[%t] : memref<66xf32>
    gpu.return
  }
}
