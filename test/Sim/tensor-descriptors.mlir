// A descriptor that is a parameter, and one that the kernel makes.
//
// RUN: async-sim %s --kernel=nvgpu --arg 0=32x24:ramp --print | FileCheck %s
// RUN: not async-sim %s --kernel=rows_of_20_bytes | FileCheck %s --check-prefix=PITCH

!small = !nvgpu.tensormap.descriptor<tensor = memref<2x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @descriptors {
  // Upstream's coordinates come innermost first.
  // CHECK: argument 1: 728 729 730 731 732 733 734 735 752 753 754 755 756 757 758 759
  gpu.func @nvgpu(%x: !small, %y: memref<2x8xf16>) workgroup(%buf: memref<2x8xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c30 = arith.constant 30 : index
    %false = arith.constant false
    %bytes = arith.constant 32 : index
    %ticks = arith.constant 1000 : index
    %leader = nvvm.elect.sync -> i1
    nvgpu.tma.prefetch.descriptor %x, predicate = %leader : !small
    %full = nvgpu.mbarrier.create -> !one
    nvgpu.mbarrier.init %full[%c0], %c1, predicate = %leader : !one
    nvvm.fence.mbarrier.init
    gpu.barrier
    nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes, predicate = %leader : !one
    nvgpu.tma.async.load %x[%c8, %c30], %full[%c0] to %buf, predicate = %leader
        : !small, !one -> memref<2x8xf16, #gpu.address_space<workgroup>>
    nvgpu.mbarrier.try_wait.parity %full[%c0], %false, %ticks : !one
    %memref = memref.cast %y : memref<2x8xf16> to memref<*xf16>
    %c2 = arith.constant 2 : index
    %out = nvgpu.tma.create.descriptor %memref box[%c2, %c8] : memref<*xf16> -> !small
    nvgpu.tma.async.store %buf to %out[%c0, %c0], predicate = %leader
        : memref<2x8xf16, #gpu.address_space<workgroup>> -> !small
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
    gpu.return
  }

  // PITCH: error: nvgpu.tma.create.descriptor: the stride of dimension 0 of the tensor is 20 bytes, and a tensor map takes multiples of 16 only
  gpu.func @rows_of_20_bytes(%y: memref<2x10xf16>) kernel {
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %memref = memref.cast %y : memref<2x10xf16> to memref<*xf16>
    %out = nvgpu.tma.create.descriptor %memref box[%c2, %c8] : memref<*xf16> -> !small
    gpu.return
  }
}
