// The kernel of docs/tutorial.md: a double-buffered copy through shared memory.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx --check-prefix=PTX
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=SASS

// CHECK: scf.for
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK: }
// CHECK: gpux.wait_group <cp_async>, 0

// PTX: cp.async.wait_group 1;
// PTX: cp.async.wait_group 0;
// PTX-NOT: cp.async.wait_group

// SASS: DEPBAR.LE SB0, 0x1
// SASS: DEPBAR.LE SB0, 0x0

!Global = memref<?xf32>
!Slots = memref<2x128xf32, #gpu.address_space<workgroup>>
#element = affine_map<(t, tile) -> (t + 128 * tile)>
#reversed = affine_map<(t) -> (127 - t)>
#slot = affine_map<(tile) -> (tile mod 2)>

gpu.module @tutorial {
  // Reverses every tile of 128 floats; there is at least one.
  gpu.func @reverse(%src: !Global, %dst: !Global, %tiles: index) workgroup(%slots: !Slots) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %mirror = affine.apply #reversed(%t)
    %last = arith.subi %tiles, %c1 : index

    // The first tile is on its way before the loop ...
    %copy0 = gpux.copy async %src[%t], %slots[%c0, %t], 1 : !Global to !Slots

    // ... and in the loop the next one, while this one is used.
    %left = scf.for %tile = %c0 to %last step %c1 iter_args(%current = %copy0) -> (!async.token) {
      %ahead = arith.addi %tile, %c1 : index
      %from = affine.apply #element(%t, %ahead)
      %to = affine.apply #slot(%ahead)
      %next = gpux.copy async %src[%from], %slots[%to, %t], 1 : !Global to !Slots

      async.await %current
      gpu.barrier
      %slot = affine.apply #slot(%tile)
      %x = memref.load %slots[%slot, %mirror] : !Slots
      %at = affine.apply #element(%t, %tile)
      memref.store %x, %dst[%at] : !Global
      gpu.barrier
      scf.yield %next : !async.token
    }

    async.await %left
    gpu.barrier
    %slot = affine.apply #slot(%last)
    %x = memref.load %slots[%slot, %mirror] : !Slots
    %at = affine.apply #element(%t, %last)
    memref.store %x, %dst[%at] : !Global
    gpu.return
  }
}
