// What may be right gets no warning.
//
// RUN: async-opt %s --gpux-lint --verify-diagnostics --allow-unregistered-dialect | FileCheck %s

!src = memref<1024xf32>
!dst = memref<1024xf32, #gpu.address_space<workgroup>>

// Nothing is changed.
// CHECK-LABEL: @awaited_in_one_arm
// CHECK: gpux.copy async
// CHECK: async.await
func.func @awaited_in_one_arm(%src: !src, %dst: !dst, %i: index, %p: i1) {
  %token = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  scf.if %p {
    async.await %token
  }
  return
}

func.func @awaited_elsewhere(%src: !src, %dst: !dst, %i: index) -> !async.token {
  %token = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  return %token : !async.token
}

func.func @awaited_by_another_copy(%src: !src, %dst: !dst, %i: index) {
  %first = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %second = gpux.copy async [%first] %src[%i], %dst[%i], 4 : !src to !dst
  async.await %second
  return
}

// Whoever calls this may commit.
func.func @stage(%src: !src, %dst: !dst, %i: index) {
  gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
  return
}

gpu.module @kernels {
  gpu.func @committed_in_the_next_iteration(%src: !src, %n: index) workgroup(%dst: !dst) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      gpux.commit_group <cp_async>
      gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    }
    gpu.return
  }

  gpu.func @arrives_on_an_mbarrier(%src: !src, %i: index, %bar: !llvm.ptr<3>) workgroup(%dst: !dst) kernel {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    nvvm.cp.async.mbarrier.arrive %bar : !llvm.ptr<3>
    gpu.return
  }

  // The same for all threads, or aligned for each.
  gpu.func @aligned(%src: !src, %i: index) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %first = arith.muli %t, %c4 : index
    %at = arith.addi %first, %i : index
    %token = gpux.copy async %src[%at], %dst[%first], 4 : !src to !dst
    %same = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %token, %same
    gpu.return
  }

  // One thread copies: its address is aligned.
  gpu.func @thread_of_four(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %rest = arith.remui %t, %c4 : index
    %is_first = arith.cmpi eq, %rest, %c0 : index
    scf.if %is_first {
      %token = gpux.copy async %src[%t], %dst[%t], 4 : !src to !dst
      async.await %token
    }
    gpu.return
  }

  // Of a block of one thread, nothing is further; of an unknown one, nothing is known.
  gpu.func @block_of_one(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 1, 64, 1>} {
    %t = gpu.thread_id x
    %token = gpux.copy async %src[%t], %dst[%t], 4 : !src to !dst
    async.await %token
    gpu.return
  }

  // The same by branches.
  gpu.func @thread_of_four_by_branches(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %rest = arith.remui %t, %c4 : index
    %is_first = arith.cmpi eq, %rest, %c0 : index
    cf.cond_br %is_first, ^bb1, ^bb2
  ^bb1:
    %token = gpux.copy async %src[%t], %dst[%t], 4 : !src to !dst
    async.await %token
    cf.br ^bb2
  ^bb2:
    gpu.return
  }

  // The first thread of each warp is a multiple of 32.
  gpu.func @thread_of_a_warp(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %lane32 = nvvm.read.ptx.sreg.laneid : i32
    %lane = arith.index_cast %lane32 : i32 to index
    %t = gpu.thread_id x
    %warp = arith.subi %t, %lane : index
    %token = gpux.copy async %src[%warp], %dst[%warp], 4 : !src to !dst
    async.await %token
    gpu.warp_execute_on_lane_0(%lane)[32] {
      %of_lane_0 = gpux.copy async %src[%t], %dst[%t], 4 : !src to !dst
      async.await %of_lane_0
    }
    gpu.return
  }

  // What a caller hands over may differ between threads.
  gpu.func @helper(%src: !src, %dst: !dst, %lane: index) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %warp = arith.subi %t, %lane : index
    %token = gpux.copy async %src[%warp], %dst[%warp], 4 : !src to !dst
    async.await %token
    gpu.return
  }

  // An i1 wraps around: the index is 0.
  gpu.func @wraps_around(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %bit = arith.index_cast %t : index to i1
    %twice = arith.addi %bit, %bit : i1
    %zero = arith.index_castui %twice : i1 to index
    %token = gpux.copy async %src[%zero], %dst[%zero], 4 : !src to !dst
    async.await %token
    gpu.return
  }

  // Operations that are not known may do anything.
  gpu.func @waits_for_all(%src: !src, %i: index) workgroup(%dst: !dst) kernel {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    llvm.call_intrinsic "llvm.nvvm.cp.async.wait.all"() : () -> ()
    gpu.return
  }
  gpu.func @unknown(%src: !src, %i: index) workgroup(%dst: !dst) kernel {
    gpux.copy %src[%i], %dst[%i], 4 : !src to !dst
    "test.commit"() : () -> ()
    gpu.return
  }

  // Multiples of 4, and what does not grow evenly.
  gpu.func @affine(%src: !src) workgroup(%dst: !dst) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %i = affine.apply affine_map<(d0)[s0] -> (d0 * 4 + s0)>(%t)[%c4]
    %down = affine.apply affine_map<(d0) -> (d0 - d0 mod 4)>(%t)
    %a = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    async.await %a
    %b = gpux.copy async %src[%down], %dst[%down], 4 : !src to !dst
    async.await %b
    gpu.return
  }

  // A wait counts groups: it is for the first copy, too, which no operand names. The one around the loop is for the last copy.
  gpu.func @counted(%src: !src, %n: index) workgroup(%dst: !dst) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %copy = nvgpu.device_async_copy %src[%c0], %dst[%c0], 4 : !src to !dst
    %group = nvgpu.device_async_create_group
    scf.for %i = %c0 to %n step %c4 {
      nvgpu.device_async_wait %group {numGroups = 0 : i32}
      %next = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
      %made = nvgpu.device_async_create_group %next
    }
    gpu.return
  }

  // Whoever calls this may wait.
  func.func @left_to_the_caller(%src: !src, %dst: !dst, %i: index) {
    %copy = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : !src to !dst
    %group = nvgpu.device_async_create_group %copy
    return
  }
}
