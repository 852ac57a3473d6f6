// Each warning, and where it stands.
//
// RUN: async-opt %s --gpux-lint --verify-diagnostics --split-input-file

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

func.func @unused_token(%src: !src, %dst: !dst, %i: index) {
  // expected-warning @+2 {{'gpux.copy' op has a token that nobody awaits}}
  // expected-note @+1 {{await the token, or join it with one that is awaited}}
  %token = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  return
}

// -----

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

// Joined and carried around a loop, but not awaited in the end.
func.func @joined_for_nobody(%src: !src, %dst: !dst, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %ready = async.ready
  %left = scf.for %i = %c0 to %n step %c4 iter_args(%all = %ready) -> (!async.token) {
    // expected-warning @+2 {{has a token that nobody awaits}}
    // expected-note @+1 {{await the token}}
    %token = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %both = async.join %all, %token
    scf.yield %both : !async.token
  }
  return
}

// -----

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @uncommitted(%src: !src, %i: index) workgroup(%dst: !dst) kernel {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.commit_group <cp_async>
    // expected-warning @+2 {{'gpux.copy' op is in no group: no commit of its queue follows on any path}}
    // expected-note @+1 {{commit a group after it}}
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    gpux.wait_group <cp_async>, 0
    gpu.return
  }
}

// -----

!x = memref<64x64xf16>
!slot = memref<64x64xf16, #gpu.address_space<workgroup>>
!tile = !nvgpu.tensormap.descriptor<tensor = !slot, swizzle = none, l2promo = none, oob = zero, interleave = none>

gpu.module @kernels {
  gpu.func @coordinates(%x: !tile) workgroup(%slot: !slot) kernel {
    %c0 = arith.constant 0 : index
    // expected-note @+1 {{this differs between threads}}
    %t = gpu.thread_id x
    // expected-warning @+1 {{'gpux.tma_load' op is executed by all threads of the block together, but operand #2 differs between them}}
    %token = gpux.tma_load async %x[%c0, %t], %slot : !tile, !slot
    async.await %token
    gpu.return
  }
}

// -----

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @sixteen_bytes_at_each_thread(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    // expected-warning @+2 {{'gpux.copy' op copies 16 bytes, but its source is 4 bytes further for each thread}}
    // expected-note @+1 {{multiply the thread index by the number of elements}}
    %token = gpux.copy async %src[%t], %dst[%t], 4 : !src to !dst
    async.await %token
    gpu.return
  }
}

// -----

!src = memref<64x64xf32>
!dst = memref<64x68xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Rows of 68 elements are aligned, columns are not.
  gpu.func @in_a_loop(%src: !src, %n: index) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %column = arith.muli %t, %c2 : index
    scf.for %i = %c0 to %n step %c1 {
      %right = gpux.copy async %src[%t, %i], %dst[%t, %i], 4 : !src to !dst
      // expected-warning @+2 {{its destination is 8 bytes further for each thread}}
      // expected-note @+1 {{multiply}}
      %wrong = gpux.copy async %src[%t, %i], %dst[%i, %column], 4 : !src to !dst
      async.await %right, %wrong
    }
    gpu.return
  }
}

// -----

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The group of the second copy is made, and nobody waits for it.
  gpu.func @unwaited(%src: !src, %i: index) workgroup(%dst: !dst) kernel {
    %first = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
    %group = nvgpu.device_async_create_group %first
    nvgpu.device_async_wait %group {numGroups = 0 : i32}
    // expected-warning @+2 {{'nvgpu.device_async_copy' op is never waited for: no wait for groups follows on any path}}
    // expected-note @+1 {{wait for its group before its data is used}}
    %second = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
    %left = nvgpu.device_async_create_group %second
    gpu.return
  }

  // Without a group, that is what is wrong.
  gpu.func @ungrouped(%src: !src, %i: index) workgroup(%dst: !dst) kernel {
    // expected-warning @+2 {{is in no group}}
    // expected-note @+1 {{commit a group after it}}
    %copy = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
    gpu.return
  }
}

// -----

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @sixteen_bytes_at_each_thread_by_affine(%src: !src, %n: index) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %two = affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0 * 4 + s0 mod 3)>(%t)[%n]
    // expected-warning @+2 {{copies 16 bytes, but its source is 8 bytes further for each thread}}
    // expected-note @+1 {{multiply the thread index}}
    %token = gpux.copy async %src[%two], %dst[%two], 4 : !src to !dst
    async.await %token
    gpu.return
  }
}
