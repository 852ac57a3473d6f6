// RUN: async-opt %s --async-pipeline --canonicalize --cse --gpux-tokens-to-groups | FileCheck %s
// RUN: async-sim %s --arg=0=1280:ramp --arg=1=1280:zero --arg=2=10 --out=1=%t.plain.npy | FileCheck %s --check-prefix=CLEAN
// RUN: async-opt %s --async-pipeline --gpux-tokens-to-groups | async-sim --arg=0=1280:ramp --arg=1=1280:zero --arg=2=10 --out=1=%t.npy | FileCheck %s --check-prefix=CLEAN
// RUN: cmp %t.plain.npy %t.npy
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 pipeline=true" | async-translate --ptx -o %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin

// The tutorial's loop: reverses tiles of 128 floats through workgroup memory. No copy, no token and no slot.

// CHECK:         gpux.commit_group <cp_async>
// CHECK:         gpux.commit_group <cp_async>
// CHECK:         scf.for
// CHECK:           gpux.wait_group <cp_async>, 1
// CHECK-NEXT:      gpu.barrier
// CHECK-NOT:       gpu.barrier
// CHECK:           gpux.copy
// CHECK-NEXT:      gpux.commit_group <cp_async>
// CHECK-NOT:       gpu.barrier
// CHECK:         gpux.wait_group <cp_async>, 1
// CHECK:         gpux.wait_group <cp_async>, 0

// CLEAN: clean

!Global = memref<?xf32>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @reverse(%src: !Global, %dst: !Global, %tiles: index) workgroup(%tile: !Tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %mirror = arith.subi %c127, %t : index

    scf.for %i = %c0 to %tiles step %c1 {
      %first = arith.muli %i, %c128 : index
      %at = arith.addi %first, %t : index
      %new = memref.load %src[%at] : !Global
      memref.store %new, %tile[%t] : !Tile
      gpu.barrier
      %x = memref.load %tile[%mirror] : !Tile
      memref.store %x, %dst[%at] : !Global
      gpu.barrier
    } {async.num_stages = 3}
    gpu.return
  }
}
