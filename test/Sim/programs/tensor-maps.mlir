// A host makes the tensor map descriptor, and the kernel loads a tile of its own memory by it.

// RUN: async-sim %s | FileCheck %s
// RUN: async-sim %s --schedule=early | FileCheck %s
// RUN: async-sim %s --schedule=random --runs=3 | FileCheck %s
// RUN: not async-sim %s --entry=too_early | FileCheck %s --check-prefix=EARLY

!tile = memref<8x8xf32, 3>
!map = !nvgpu.tensormap.descriptor<tensor = !tile, swizzle = none, l2promo = none, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!device = memref<16x8xf32, #gpu.address_space<global>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @second_tile(%map: !map) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %c8 = arith.constant 8 : index
      %bytes = arith.constant 256 : index
      %ticks = arith.constant 10000000 : index
      %even = arith.constant 0 : i1
      %t = gpu.thread_id x
      %first = arith.cmpi eq, %t, %c0 : index
      %tile = memref.get_global @tile : !tile
      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %first {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
        nvvm.fence.mbarrier.init
      }
      gpu.barrier
      scf.if %first {
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
        nvgpu.tma.async.load %map[%c0, %c8], %barrier[%c0] to %tile : !map, !barrier -> !tile
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %even, %ticks : !barrier
      scf.if %first {
        %last = memref.load %tile[%c7, %c7] : !tile
        gpu.printf "last: %.1f\n", %last : f32
      }
      gpu.return
    }
  }

  func.func @fill(%h: memref<16x8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %row = arith.muli %i, %c8 : index
        %n = arith.addi %row, %j : index
        %int = arith.index_cast %n : index to i32
        %float = arith.sitofp %int : i32 to f32
        memref.store %float, %h[%i, %j] : memref<16x8xf32>
      }
    }
    return
  }

  // CHECK: last: 127.0
  // CHECK-NEXT: main: clean
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %h = memref.alloc() : memref<16x8xf32>
    call @fill(%h) : (memref<16x8xf32>) -> ()
    %d, %t0 = gpux.alloc async () : !device
    %t1 = gpux.transfer async [%t0] %h, %d : memref<16x8xf32> to !device
    %any = memref.cast %d : !device to memref<*xf32, #gpu.address_space<global>>
    %map = nvgpu.tma.create.descriptor %any box[%c8, %c8] : memref<*xf32, #gpu.address_space<global>> -> !map
    %t2 = gpux.async_launch async [%t1] @kernels::@second_tile blocks (%c1, %c1, %c1) threads (%c32, %c1, %c1) args(%map : !map)
    %t3 = gpux.dealloc async [%t2] %d : !device
    async.await %t3
    return
  }

  // EARLY: error: WAR race: gpux.transfer writes what another task reads, and nothing orders the two
  // EARLY: against: gpux.async_launch at
  func.func @too_early() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %h = memref.alloc() : memref<16x8xf32>
    call @fill(%h) : (memref<16x8xf32>) -> ()
    %d, %t0 = gpux.alloc async () : !device
    %t1 = gpux.transfer async [%t0] %h, %d : memref<16x8xf32> to !device
    %any = memref.cast %d : !device to memref<*xf32, #gpu.address_space<global>>
    %map = nvgpu.tma.create.descriptor %any box[%c8, %c8] : memref<*xf32, #gpu.address_space<global>> -> !map
    %t2 = gpux.async_launch async [%t0] @kernels::@second_tile blocks (%c1, %c1, %c1) threads (%c32, %c1, %c1) args(%map : !map)
    async.await %t2
    async.await %t1
    return
  }
}
