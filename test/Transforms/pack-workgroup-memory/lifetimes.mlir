// What keeps buffers apart: loops, arms that different threads take, copies in flight, and what can't be followed.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory 2>&1 >/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-pack-workgroup-memory=share=free 2>&1 >/dev/null | FileCheck %s --check-prefix=FREE

!Global = memref<64xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // What the second loop uses comes after what the first one keeps from iteration to iteration; the barrier between them
  // separates them as well.
  // CHECK: remark: packs 2 buffers of 512 bytes into 256 bytes
  // FREE: remark: packs 2 buffers of 512 bytes into 256 bytes
  gpu.func @two_loops(%src: !Global, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %src[%i] : !Global
      memref.store %x, %a[%t] : !Buffer
      %y = memref.load %a[%t] : !Buffer
      memref.store %y, %dst[%t] : !Global
    }
    gpu.barrier
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %src[%i] : !Global
      memref.store %x, %b[%t] : !Buffer
      %y = memref.load %b[%t] : !Buffer
      memref.store %y, %dst[%t] : !Global
    }
    gpu.return
  }

  // The next iteration reads what this one has left, as far as is known.
  // CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @one_loop(%src: !Global, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %src[%i] : !Global
      memref.store %x, %a[%t] : !Buffer
      gpu.barrier
      %y = memref.load %a[%t] : !Buffer
      gpu.barrier
      memref.store %y, %b[%t] : !Buffer
      gpu.barrier
      %z = memref.load %b[%t] : !Buffer
      memref.store %z, %dst[%t] : !Global
    }
    gpu.return
  }

  // An allocation in the loop is another one in each iteration.
  // CHECK: remark: packs 2 buffers of 512 bytes into 256 bytes
  gpu.func @allocations_in_a_loop(%src: !Global, %dst: !Global) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %src[%i] : !Global
      %a = memref.alloc() : !Buffer
      memref.store %x, %a[%t] : !Buffer
      gpu.barrier
      %y = memref.load %a[%t] : !Buffer
      gpu.barrier
      %b = memref.alloc() : !Buffer
      memref.store %y, %b[%t] : !Buffer
      gpu.barrier
      %z = memref.load %b[%t] : !Buffer
      memref.store %z, %dst[%t] : !Global
      gpu.barrier
    }
    gpu.return
  }

  // Other threads are in the other arm at the same time.
  // CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @arms_of_threads(%x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %first_warp = arith.cmpi ult, %t, %c32 : index
    scf.if %first_warp {
      memref.store %x, %a[%t] : !Buffer
      %y = memref.load %a[%t] : !Buffer
      memref.store %y, %dst[%t] : !Global
    } else {
      memref.store %x, %b[%t] : !Buffer
      %y = memref.load %b[%t] : !Buffer
      memref.store %y, %dst[%t] : !Global
    }
    gpu.return
  }

  // All threads are in the same arm.
  // CHECK: remark: packs 2 buffers of 512 bytes into 256 bytes
  // FREE: remark: packs 2 buffers of 512 bytes into 256 bytes
  gpu.func @arms_of_the_block(%x: f32, %p: i1, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    scf.if %p {
      memref.store %x, %a[%t] : !Buffer
      %y = memref.load %a[%t] : !Buffer
      memref.store %y, %dst[%t] : !Global
    } else {
      memref.store %x, %b[%t] : !Buffer
      %y = memref.load %b[%t] : !Buffer
      memref.store %y, %dst[%t] : !Global
    }
    gpu.return
  }

  // The copy is in flight until its await, although nothing reads what it writes.
  // CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @in_flight(%src: !Global, %x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    %token = gpux.copy async %src[%t], %a[%t], 1 : !Global to !Buffer
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    async.await %token
    gpu.return
  }

  // It is complete before; a barrier has to come after the await for all threads to know.
  // CHECK: remark: packs 2 buffers of 512 bytes into 256 bytes
  // FREE: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @complete(%src: !Global, %x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    %token = gpux.copy async %src[%t], %a[%t], 1 : !Global to !Buffer
    gpu.barrier
    async.await %token
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    gpu.return
  }

  // Its token is lost on one way: nobody knows when it is complete.
  // CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @lost(%src: !Global, %x: f32, %p: i1, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    %token = gpux.copy async %src[%t], %a[%t], 1 : !Global to !Buffer
    scf.if %p {
      async.await %token
    }
    gpu.barrier
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    gpu.return
  }

  // A ring of tokens, all of which are awaited in the end.
  // CHECK: remark: packs 2 buffers of 512 bytes into 256 bytes
  // FREE: remark: packs 2 buffers of 512 bytes into 256 bytes
  gpu.func @carried(%src: !Global, %x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %first = gpux.copy async %src[%t], %a[%t], 1 : !Global to !Buffer
    %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%token = %first) -> !async.token {
      async.await %token
      %next = gpux.copy async %src[%t], %a[%t], 1 : !Global to !Buffer
      scf.yield %next : !async.token
    }
    async.await %last
    gpu.barrier
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    gpu.return
  }

  // Groups that are counted by hand: all are waited for, but the last one is still open in the second kernel.
  // CHECK: remark: packs 2 buffers of 512 bytes into 256 bytes
  gpu.func @counted(%src: !Global, %x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    gpux.copy %src[%t], %a[%t], 1 : !Global to !Buffer
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    gpu.return
  }
  // CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @still_open(%src: !Global, %x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    gpux.copy %src[%t], %a[%t], 1 : !Global to !Buffer
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
  // Two groups, and a wait for the first one alone.
  // CHECK: remark: packs 2 buffers of 512 bytes into 512 bytes
  gpu.func @one_in_flight(%src: !Global, %x: f32, %dst: !Global) workgroup(%a: !Buffer, %b: !Buffer) kernel {
    %t = gpu.thread_id x
    gpux.copy %src[%t], %a[%t], 1 : !Global to !Buffer
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 1
    gpu.barrier
    memref.store %x, %b[%t] : !Buffer
    %y = memref.load %b[%t] : !Buffer
    memref.store %y, %dst[%t] : !Global
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}
