// The example of README.md: a wait in the loop that leaves two tiles on their way, and two waits after it.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx --check-prefix=PTX
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin

// CHECK-COUNT-2: gpux.commit_group <cp_async>
// CHECK: scf.for
// CHECK: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.wait_group <cp_async>, 2
// CHECK: }
// CHECK-NEXT: gpux.wait_group <cp_async>, 1
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NOT: gpux.wait_group

// PTX: cp.async.wait_group 2;
// PTX: cp.async.wait_group 1;
// PTX: cp.async.wait_group 0;
// PTX-NOT: cp.async.wait_group

!Global = memref<?xf32>
!Slots = memref<3x128xf32, #gpu.address_space<workgroup>>
#element = affine_map<(t, tile) -> (t + 128 * tile)>
#slot = affine_map<(tile) -> (tile mod 3)>

gpu.module @readme {
  // Each thread adds up elements t, t+128, t+256, ... of src, which come through three slots of shared memory.
  gpu.func @sum(%src: !Global, %dst: !Global, %tiles: index) workgroup(%slots: !Slots) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x

    %copy0 = gpux.copy async %src[%t], %slots[%c0, %t], 1 : !Global to !Slots
    %from1 = arith.addi %t, %c128 : index
    %copy1 = gpux.copy async %src[%from1], %slots[%c1, %t], 1 : !Global to !Slots

    %last = arith.subi %tiles, %c2 : index
    %sum, %left:2 = scf.for %tile = %c0 to %last step %c1
        iter_args(%sum = %zero, %current = %copy0, %next = %copy1) -> (f32, !async.token, !async.token) {
      %ahead = arith.addi %tile, %c2 : index
      %from = affine.apply #element(%t, %ahead)
      %to = affine.apply #slot(%ahead)
      %new = gpux.copy async %src[%from], %slots[%to, %t], 1 : !Global to !Slots

      async.await %current
      %slot = affine.apply #slot(%tile)
      %x = memref.load %slots[%slot, %t] : !Slots
      %more = arith.addf %sum, %x : f32
      scf.yield %more, %next, %new : f32, !async.token, !async.token
    }

    async.await %left#0
    %slot0 = affine.apply #slot(%last)
    %x0 = memref.load %slots[%slot0, %t] : !Slots
    %sum0 = arith.addf %sum, %x0 : f32

    async.await %left#1
    %very_last = arith.addi %last, %c1 : index
    %slot1 = affine.apply #slot(%very_last)
    %x1 = memref.load %slots[%slot1, %t] : !Slots
    %sum1 = arith.addf %sum0, %x1 : f32
    memref.store %sum1, %dst[%t] : !Global
    gpu.return
  }
}
