// What can't be one buffer for the whole block is refused where it stands.
//
// RUN: async-opt %s --split-input-file --gpux-allocs-to-globals --verify-diagnostics

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @size {
  gpu.func @unknown_size(%n: index) kernel {
    // expected-error @+2 {{'memref.alloc' op allocates workgroup memory of a size that is not known before the kernel runs}}
    // expected-note @+1 {{give it a static size, or take a view of gpu.dynamic_shared_memory}}
    %a = memref.alloc(%n) : memref<?xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @layout {
  gpu.func @columns() kernel {
    // expected-error @+2 {{'memref.alloc' op allocates workgroup memory with a layout that is not row-major}}
    // expected-note @+1 {{allocate it row-major, and take a view}}
    %a = memref.alloc() : memref<4x4xf32, strided<[1, 4]>, 3>
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @called {
  // expected-note @+1 {{run --gpux-inline-calls first, or pass the buffer to this function as an argument}}
  func.func private @make() -> !Buffer {
    // expected-error @+1 {{'memref.alloc' op allocates workgroup memory in a function that is called, and each call would need its own}}
    %a = memref.alloc() : !Buffer
    return %a : !Buffer
  }
  gpu.func @kernel() kernel {
    %a = func.call @make() : () -> !Buffer
    %b = func.call @make() : () -> !Buffer
    gpu.return
  }
}

// -----

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @carried {
  // The loop fills the next buffer while it reads this one.
  gpu.func @next_one(%src: !Global, %n: index, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = memref.alloc() : !Buffer
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%this = %first) -> !Buffer {
      // expected-error @+2 {{'memref.alloc' op allocates workgroup memory in each iteration, and that of the previous iteration may still be in use}}
      // expected-note @+1 {{allocate outside of the loop, one buffer for each that is in use at once}}
      %next = memref.alloc() : !Buffer
      %x = memref.load %this[%i] : !Buffer
      memref.store %x, %next[%i] : !Buffer
      gpu.barrier
      // expected-note @+1 {{it is passed on here}}
      scf.yield %next : !Buffer
    }
    gpu.return
  }
}

// -----

!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @carried_view {
  // A view is as good as the buffer, and a branch as a yield.
  gpu.func @next_one(%x: f32, %p: i1, %i: index) kernel {
    cf.br ^body
  ^body:
    // expected-error @+2 {{'memref.alloc' op allocates workgroup memory in each iteration, and that of the previous iteration may still be in use}}
    // expected-note @+1 {{allocate outside of the loop, one buffer for each that is in use at once}}
    %a = memref.alloc() : !Buffer
    %v = memref.cast %a : !Buffer to memref<?xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    cf.cond_br %p, ^body, ^end
  ^end:
    // expected-note @+1 {{it is passed on here}}
    memref.store %x, %v[%i] : memref<?xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @in_flight {
  // The copy may land when the next iteration has begun: its await is not for every iteration.
  gpu.func @awaited_by_some(%src: !Global, %n: index, %i: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      // expected-error @+1 {{'memref.alloc' op allocates workgroup memory in each iteration, and a copy of the previous iteration may still be in flight}}
      %a = memref.alloc() : !Buffer
      // expected-note @+1 {{await the token of this copy in the same block, or move the allocation out of the loop}}
      %t = gpux.copy async %src[%i], %a[%i], 4 : !Global to !Buffer
      scf.if %p {
        async.await %t
      }
      gpu.barrier
    }
    gpu.return
  }
}

// -----

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @threads_ahead {
  // Threads that are ahead would write what others still read.
  gpu.func @no_barrier_after(%src: !Global, %n: index, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      // expected-error @+2 {{'memref.alloc' op allocates workgroup memory in each iteration, and other threads may still use that of the previous iteration}}
      // expected-note @+1 {{put a gpu.barrier after its last use, or move the allocation out of the loop if all iterations may share it}}
      %a = memref.alloc() : !Buffer
      %t = gpux.copy async %src[%i], %a[%i], 4 : !Global to !Buffer
      async.await %t
      gpu.barrier
      %x = memref.load %a[%k] : !Buffer
      memref.store %x, %src[%k] : !Global
      memref.dealloc %a : !Buffer
    }
    gpu.return
  }
}

// -----

// The host's part of a function is not the device's.
func.func @launches(%n: index) {
  %c1 = arith.constant 1 : index
  %host = memref.alloc(%n) : memref<?xf32, 3>
  // expected-note @+1 {{run --gpu-kernel-outlining first}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{'memref.alloc' op allocates workgroup memory in a gpu.launch, which is not a function yet}}
    %a = memref.alloc() : memref<64xf32, 3>
    gpu.terminator
  }
  return
}
