// What upstream's tests for sm_90 do around a launch: the host makes a descriptor of a view of a buffer, here of its left half, and the
// device names dynamic workgroup memory by a global without elements.
//
// RUN: async-sim %s --arg 0=ramp --arg 1=zero --print 2>&1 | FileCheck %s

// CHECK-NOT: note:
// CHECK: main_kernel: clean
// CHECK: argument 1: 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 32 33

!tile = memref<8x8xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = !tile, swizzle = none, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

memref.global "private" @dynamic : memref<0xf16, #gpu.address_space<workgroup>>

func.func @main(%x: memref<8x16xf16>, %y: memref<8x8xf16>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %bytes = arith.constant 128 : i32
  %left = memref.subview %x[0, 0] [8, 8] [1, 1] : memref<8x16xf16> to memref<8x8xf16, strided<[16, 1]>>
  %any = memref.cast %left : memref<8x8xf16, strided<[16, 1]>> to memref<*xf16>
  %map = nvgpu.tma.create.descriptor %any box[%c8, %c8] : memref<*xf16> -> !map
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c8, %sz = %c1) dynamic_shared_memory_size %bytes {
    %c0 = arith.constant 0 : index
    %ticks = arith.constant 1000 : index
    %expected = arith.constant 128 : index
    %false = arith.constant false
    %none = memref.get_global @dynamic : memref<0xf16, #gpu.address_space<workgroup>>
    %tile = memref.reinterpret_cast %none to offset: [0], sizes: [8, 8], strides: [8, 1] : memref<0xf16, #gpu.address_space<workgroup>> to !tile
    %leader = gpux.elect
    %bar = nvgpu.mbarrier.create -> !bar
    nvgpu.mbarrier.init %bar[%c0], %c1, predicate = %leader : !bar
    nvvm.fence.mbarrier.init
    gpu.barrier
    nvgpu.mbarrier.arrive.expect_tx %bar[%c0], %expected, predicate = %leader : !bar
    nvgpu.tma.async.load %map[%c0, %c0], %bar[%c0] to %tile, predicate = %leader : !map, !bar -> !tile
    nvgpu.mbarrier.try_wait.parity %bar[%c0], %false, %ticks : !bar
    // Through the other name.
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %again = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to !tile
    %v = memref.load %again[%ty, %tx] : !tile
    memref.store %v, %y[%ty, %tx] : memref<8x8xf16>
    gpu.terminator
  }
  return
}
