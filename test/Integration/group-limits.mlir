// What the assembler makes of the largest counts: the verifier's limits are the hardware's. And cp.async and bulk groups are
// waited for by one instruction, on one scoreboard.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=SASS
//
// A larger count reaches the machine code as the largest one, without a word.
//
// RUN: sed 's/wgmma.wait_group.sync.aligned[[:space:]]*7/wgmma.wait_group.sync.aligned 8/' %t.ptx > %t-beyond.ptx
// RUN: grep 'wait_group.sync.aligned 8' %t-beyond.ptx
// RUN: ptxas -arch=sm_90a %t-beyond.ptx -o %t-beyond.cubin
// RUN: nvdisasm %t-beyond.cubin | FileCheck %s --check-prefix=SASS

!Global = memref<?xf32>
!Buffer = memref<256xf32, #gpu.address_space<workgroup>>
!Tile = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @group_limits {
  // CHECK-LABEL: .entry limits(
  // CHECK: cp.async.wait_group 63;
  // CHECK: cp.async.bulk.wait_group.read 63;
  // CHECK: cp.async.bulk.wait_group 2;
  // CHECK: wgmma.wait_group.sync.aligned 7;
  // SASS-LABEL: .text.limits:
  // SASS: LDGDEPBAR
  // SASS: DEPBAR.LE SB0, 0x3f
  // SASS: UTMACMDFLUSH
  // SASS: DEPBAR.LE SB0, 0x3f
  // SASS: DEPBAR.LE SB0, 0x2
  // SASS: WARPGROUP.DEPBAR.LE gsb0, 0x7
  gpu.func @limits(%src: !Global, %out: memref<128xf32>, %i: index) workgroup(%a: !Buffer, %tile: !Tile) kernel {
    gpux.copy %src[%i], %a[%i], 4 : !Global to !Buffer
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 63
    gpux.bulk_store %tile, %out : !Tile to memref<128xf32>
    gpux.commit_group <bulk>
    gpux.wait_group <bulk>, 63 read
    gpux.wait_group <bulk>, 2
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 7
    gpu.return
  }
}
