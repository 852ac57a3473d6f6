// A ring of three tiles. Which mbarrier it is, and with which parity, takes a count, a comparison and a selection in 32 bits: there
// is no division by three, which is a 64-bit multiplication, in the program, and none comes in.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=SASS
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa war=mbarrier" | async-translate --ptx -o %t.war.ptx
// RUN: FileCheck %s --input-file %t.war.ptx --check-prefix=WAR
// RUN: ptxas -arch=sm_90a %t.war.ptx -o %t.war.cubin
// RUN: nvdisasm %t.war.cubin | FileCheck %s --check-prefix=SASS

// CHECK-LABEL: .entry three(
// CHECK-NOT: mul.hi
// CHECK-NOT: rem.u
// CHECK-NOT: div.u
// CHECK: mbarrier.try_wait.parity.shared.b64
// CHECK-NOT: mul.hi
// CHECK-NOT: rem.u
// CHECK-NOT: div.u
// CHECK: ret;

// WAR-LABEL: .entry three(
// WAR-NOT: mul.hi
// WAR-NOT: rem.u
// WAR-NOT: div.u
// WAR: mbarrier.try_wait.parity.shared.b64
// WAR-NOT: mul.hi
// WAR-NOT: rem.u
// WAR-NOT: div.u
// WAR: ret;

// SASS-LABEL: .text.three:
// SASS-NOT: IMAD.WIDE
// SASS-NOT: IMAD.HI
// SASS: UTMALDG.2D
// SASS-NOT: IMAD.WIDE
// SASS-NOT: IMAD.HI
// SASS: SYNCS{{.*}}TRYWAIT
// SASS-NOT: IMAD.WIDE
// SASS-NOT: IMAD.HI
// SASS: UTMALDG.2D
// SASS-NOT: IMAD.WIDE
// SASS-NOT: IMAD.HI
// SASS: EXIT

!global = memref<?x64xf32>
!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!shared = memref<16x64xf32, #gpu.address_space<workgroup>>
!t = !async.token

gpu.module @kernels {
  gpu.func @three(%x: !tile, %y: !global, %n: index) workgroup(%a: !shared, %b: !shared, %c: !shared) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %tid = gpu.thread_id x
    %t0 = gpux.tma_load async %x[%c0, %c0], %a : !tile, !shared
    %t1 = gpux.tma_load async %x[%c1, %c0], %b : !tile, !shared
    %t2 = gpux.tma_load async %x[%c2, %c0], %c : !tile, !shared
    %last:6 = scf.for %i = %c0 to %n step %c1
        iter_args(%t = %t0, %u = %t1, %v = %t2, %full = %a, %next = %b, %other = %c) -> (!t, !t, !t, !shared, !shared, !shared) {
      async.await %t
      %e = memref.load %full[%c0, %tid] : !shared
      memref.store %e, %y[%i, %tid] : !global
      %r = arith.addi %i, %c3 : index
      %w = gpux.tma_load async %x[%r, %c0], %full : !tile, !shared
      scf.yield %u, %v, %w, %next, %other, %full : !t, !t, !t, !shared, !shared, !shared
    }
    async.await %last#0, %last#1, %last#2
    gpu.return
  }
}
