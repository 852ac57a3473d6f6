// The example of README.md for sm_90: tiles that the tensor memory accelerator loads, in a ring of mbarriers.
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx --check-prefix=PTX
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin
// RUN: async-sim %s --kernel=sum --arg 0=96x128:ramp --arg 1=128:zero --arg 2=6 --print | FileCheck %s --check-prefix=SUM
// RUN: async-opt %s --gpux-tokens-to-mbarriers | async-sim --kernel=sum --arg 0=96x128:ramp --arg 1=128:zero --arg 2=6 --print | FileCheck %s --check-prefix=SUM

// CHECK: num_barriers = 2
// CHECK-COUNT-2: gpux.tma_load
// CHECK: scf.for
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: gpu.barrier
// CHECK: nvgpu.mbarrier.arrive.expect_tx
// CHECK-NEXT: gpux.tma_load
// CHECK-NOT: async.await

// PTX: .shared .align 8 .b8 __mbarrier[16];
// PTX: .shared .align 128 .b8 __wg_sum_0[24576];

// Row i of a ramp begins with 128 i, so column j of 96 rows adds up to 583680 + 96 j.
// SUM: sum: clean
// SUM: argument 1: 583680 583776 583872 583968 584064

!Tile = !nvgpu.tensormap.descriptor<tensor = memref<16x128xf32, 3>, swizzle = none, l2promo = none, oob = zero,
                                    interleave = none>
!Slots = memref<3x16x128xf32, #gpu.address_space<workgroup>>
!Slot = memref<16x128xf32, strided<[128, 1], offset: ?>, #gpu.address_space<workgroup>>
#row = affine_map<(tile) -> (16 * tile)>
#slot = affine_map<(tile) -> (tile mod 3)>

gpu.module @readme {
  // Thread t adds up column t of a matrix of 128 columns, which comes through three slots of shared memory.
  gpu.func @sum(%src: !Tile, %dst: memref<?xf32>, %tiles: index) workgroup(%slots: !Slots) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x

    %slot0 = memref.subview %slots[%c0, 0, 0] [1, 16, 128] [1, 1, 1] : !Slots to !Slot
    %slot1 = memref.subview %slots[%c1, 0, 0] [1, 16, 128] [1, 1, 1] : !Slots to !Slot
    %load0 = gpux.tma_load async %src[%c0, %c0], %slot0 : !Tile, !Slot
    %load1 = gpux.tma_load async %src[%c16, %c0], %slot1 : !Tile, !Slot

    %sum, %left:2 = scf.for %tile = %c0 to %tiles step %c1
        iter_args(%sum = %zero, %current = %load0, %next = %load1) -> (f32, !async.token, !async.token) {
      async.await %current

      // Loads past the last tile give zeros.
      %ahead = arith.addi %tile, %c2 : index
      %row = affine.apply #row(%ahead)
      %to = affine.apply #slot(%ahead)
      %free = memref.subview %slots[%to, 0, 0] [1, 16, 128] [1, 1, 1] : !Slots to !Slot
      %new = gpux.tma_load async %src[%row, %c0], %free : !Tile, !Slot

      %slot = affine.apply #slot(%tile)
      %more = scf.for %i = %c0 to %c16 step %c1 iter_args(%so_far = %sum) -> f32 {
        %x = memref.load %slots[%slot, %i, %t] : !Slots
        %added = arith.addf %so_far, %x : f32
        scf.yield %added : f32
      }
      scf.yield %more, %next, %new : f32, !async.token, !async.token
    }
    async.await %left#0, %left#1
    memref.store %sum, %dst[%t] : memref<?xf32>
    gpu.return
  }
}
