// Two buffers take turns: each is stored by the tensor memory accelerator, and written again once it has been read.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" | async-translate --ptx -o %t.ptx
// RUN: FileCheck %s --input-file %t.ptx
// RUN: ptxas -arch=sm_90a %t.ptx -o %t.cubin
// RUN: nvdisasm %t.cubin | FileCheck %s --check-prefix=SASS
// RUN: not async-opt %s --gpux-lower-to-nvvm="chip=sm_80" 2>&1 | FileCheck %s --check-prefix=OLD

// OLD: error: '{{.*}}' op needs sm_90 or newer, but the chip is sm_80

!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!shared = memref<16x64xf32, #gpu.address_space<workgroup>>
!t = !async.token

gpu.module @kernels {
  // CHECK-LABEL: .entry tma_store(
  // CHECK-DAG: .shared .align 128 .b8 __wg_tma_store_0[4096]
  // CHECK-DAG: .shared .align 128 .b8 __wg_tma_store_1[4096]
  // CHECK: elect.sync
  // CHECK: cp.async.bulk.wait_group.read 1;
  // CHECK: bar.sync
  // CHECK: st.shared
  // CHECK: fence.proxy.async.shared::cta;
  // CHECK: bar.sync
  // CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
  // CHECK: cp.async.bulk.commit_group;
  // CHECK: cp.async.bulk.wait_group.read 1;
  // CHECK: bar.sync
  // CHECK: st.shared
  // CHECK: fence.proxy.async.shared::cta;
  // CHECK: bar.sync
  // CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
  // CHECK: cp.async.bulk.wait_group.read 0;

  // The machine code has the kernels the other way round.
  // SASS-LABEL: .text.bulk_store:
  // SASS: UBLKCP.G.S
  // SASS-LABEL: .text.tma_store:
  // SASS: ELECT
  // SASS: UTMASTG.2D
  // SASS: UTMACMDFLUSH
  // SASS: UTMASTG.2D
  // SASS: UTMACMDFLUSH
  gpu.func @tma_store(%tensor: !tile, %n: index, %v: f32) workgroup(%a: !shared, %b: !shared) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = gpu.thread_id x
    %none = async.ready
    %last:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ra = %none, %rb = %none) -> (!t, !t) {
      async.await %ra
      memref.store %v, %a[%c0, %i] : !shared
      %read_a, %done_a = gpux.tma_store async %a, %tensor[%k, %c0] : !shared, !tile
      async.await %rb
      memref.store %v, %b[%c0, %i] : !shared
      %read_b, %done_b = gpux.tma_store async %b, %tensor[%k, %c0] : !shared, !tile
      scf.yield %read_a, %read_b : !t, !t
    }
    gpu.return
  }

  // One line, and then none of its writes are under way when the flag is set.
  // CHECK-LABEL: .entry bulk_store(
  // CHECK: cp.async.bulk.global.shared::cta.bulk_group
  // CHECK: cp.async.bulk.commit_group;
  // CHECK: cp.async.bulk.wait_group 0;
  // CHECK: bar.sync
  gpu.func @bulk_store(%dst: memref<1024xf32>, %flag: memref<1xf32>, %v: f32) workgroup(%a: memref<1024xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.thread_id x
    memref.store %v, %a[%i] : memref<1024xf32, #gpu.address_space<workgroup>>
    %read, %done = gpux.bulk_store async %a, %dst : memref<1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
    async.await %done
    memref.store %v, %flag[%c0] : memref<1xf32>
    gpu.return
  }
}
