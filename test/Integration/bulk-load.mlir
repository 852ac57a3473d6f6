// A line comes by a bulk copy in each iteration, one ahead of its use: a ring of two mbarriers, or of two and two for the
// threads to arrive at.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=SASS
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa war=mbarrier" | async-translate --ptx -o %t.war.ptx
// RUN: ptxas -arch=sm_90a %t.war.ptx -o %t.war.cubin
// RUN: nvdisasm %t.war.cubin | FileCheck %s --check-prefix=WAR-SASS

!global = memref<?x1024xf32>
!line = memref<1024xf32, strided<[1], offset: ?>>
!ring = memref<2x1024xf32, #gpu.address_space<workgroup>>
!slot = memref<1024xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: .entry doubled(
  // CHECK: mbarrier.init.shared.b64
  // CHECK: fence.mbarrier_init.release.cluster;
  // CHECK-NEXT: bar.sync
  // CHECK: mbarrier.arrive.expect_tx.shared.b64
  // CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
  // The end of the loop stands before its beginning.
  // CHECK: mbarrier.try_wait.parity.shared.b64
  // CHECK: st.global
  // CHECK: bar.sync
  // CHECK: mbarrier.arrive.expect_tx.shared.b64
  // CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes

  // SASS: ELECT
  // SASS: SYNCS.EXCH
  // SASS: SYNCS.ARRIVE.TRANS64
  // SASS: UBLKCP.S.G
  // SASS: BAR.SYNC
  // SASS: UBLKCP.S.G
  // SASS: SYNCS{{.*}}TRYWAIT

  // WAR-SASS: SYNCS.ARRIVE.TRANS64
  // WAR-SASS: UBLKCP.S.G
  // WAR-SASS-NOT: BAR.SYNC
  // WAR-SASS: UBLKCP.S.G
  gpu.func @doubled(%x: !global, %y: !global, %n: index) workgroup(%ring: !ring) kernel
      attributes {known_block_size = array<i32: 1024, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i = gpu.thread_id x
    %from0 = memref.subview %x[%c0, 0] [1, 1024] [1, 1] : !global to !line
    %to0 = memref.subview %ring[%c0, 0] [1, 1024] [1, 1] : !ring to !slot
    %t0 = gpux.bulk_load async %from0, %to0 : !line to !slot
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%t = %t0) -> (!async.token) {
      %next = arith.addi %k, %c1 : index
      %free = arith.remui %next, %c2 : index
      %from = memref.subview %x[%next, 0] [1, 1024] [1, 1] : !global to !line
      %to = memref.subview %ring[%free, 0] [1, 1024] [1, 1] : !ring to !slot
      %u = gpux.bulk_load async %from, %to : !line to !slot
      async.await %t
      %full = arith.remui %k, %c2 : index
      %v = memref.load %ring[%full, %i] : !ring
      %sum = arith.addf %v, %v : f32
      memref.store %sum, %y[%k, %i] : !global
      scf.yield %u : !async.token
    }
    async.await %last
    gpu.return
  }
}
