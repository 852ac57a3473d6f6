// What is written is checked before it comes out: buffers that share bytes are never in use at once. It is the same without the check.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory -o %t 2>&1 | FileCheck %s --check-prefix=MAP
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --gpux-pack-workgroup-memory=verify-result=false -o %t.unchecked 2>/dev/null
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --gpux-pack-workgroup-memory=share=free 2>&1 >/dev/null | FileCheck %s --check-prefix=FREE

!Global = memref<64xf32>
!Row = memref<64xf32, #gpu.address_space<workgroup>>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two copies are in flight to where what their tokens are joined to is awaited; the third buffer comes after that.
  //
  // MAP: remark: packs 4 buffers of 1024 bytes into 768 bytes
  // FREE: remark: packs 4 buffers of 1024 bytes into 1024 bytes
  //
  // CHECK-LABEL: gpu.func @joined
  // CHECK: memref.get_global @__wg_joined
  gpu.func @joined(%x: !Global, %v: f32, %out: !Global) workgroup(%a: !Row, %b: !Row, %during: !Row, %after: !Row) kernel {
    %t = gpu.thread_id x
    %first = gpux.copy async %x[%t], %a[%t], 1 : !Global to !Row
    %second = gpux.copy async %x[%t], %b[%t], 1 : !Global to !Row
    %both = async.join %first, %second
    memref.store %v, %during[%t] : !Row
    %w = memref.load %during[%t] : !Row
    memref.store %w, %out[%t] : !Global
    async.await %both
    memref.store %v, %after[%t] : !Row
    %u = memref.load %after[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpu.return
  }

  // The copy of an iteration is in flight until the next one awaits it, and the last one until after the loop.
  //
  // MAP: remark: packs 3 buffers of 768 bytes into 512 bytes
  // FREE: remark: packs 3 buffers of 768 bytes into 512 bytes
  //
  // CHECK-LABEL: gpu.func @handed_on
  gpu.func @handed_on(%x: !Global, %v: f32, %out: !Global) workgroup(%a: !Row, %inside: !Row, %after: !Row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %first = gpux.copy async %x[%t], %a[%t], 1 : !Global to !Row
    %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%token = %first) -> !async.token {
      memref.store %v, %inside[%t] : !Row
      %w = memref.load %inside[%t] : !Row
      memref.store %w, %out[%t] : !Global
      async.await %token
      %next = gpux.copy async %x[%t], %a[%t], 1 : !Global to !Row
      scf.yield %next : !async.token
    }
    async.await %last
    gpu.barrier
    memref.store %v, %after[%t] : !Row
    %u = memref.load %after[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpu.return
  }

  // Nobody awaits what the first iteration has begun: it may be in flight for ever.
  //
  // MAP: remark: packs 2 buffers of 512 bytes into 512 bytes
  //
  // CHECK-LABEL: gpu.func @forgotten
  gpu.func @forgotten(%x: !Global, %v: f32, %out: !Global) workgroup(%a: !Row, %after: !Row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %ready = async.ready
    %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%token = %ready) -> !async.token {
      %next = gpux.copy async %x[%t], %a[%t], 1 : !Global to !Row
      scf.yield %next : !async.token
    }
    async.await %last
    memref.store %v, %after[%t] : !Row
    %u = memref.load %after[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpu.return
  }

  // A wait is for groups: what is in none yet goes on. So does what the newest group is, where the wait leaves one.
  //
  // MAP: remark: packs 4 buffers of 1024 bytes into 512 bytes
  // FREE: remark: packs 4 buffers of 1024 bytes into 768 bytes
  //
  // CHECK-LABEL: gpu.func @groups
  gpu.func @groups(%x: !Global, %v: f32, %out: !Global) workgroup(%a: !Row, %open: !Row, %newest: !Row, %after: !Row) kernel {
    %t = gpu.thread_id x
    gpux.copy %x[%t], %a[%t], 1 : !Global to !Row
    %z = memref.load %x[%t] : !Global
    gpux.wait_group <cp_async>, 0
    memref.store %v, %open[%t] : !Row
    %u = memref.load %open[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 1
    memref.store %v, %newest[%t] : !Row
    %w = memref.load %newest[%t] : !Row
    memref.store %w, %out[%t] : !Global
    gpux.wait_group <cp_async>, 0
    gpu.barrier
    memref.store %v, %after[%t] : !Row
    %y = memref.load %after[%t] : !Row
    memref.store %y, %out[%t] : !Global
    gpu.return
  }

  // Some threads begin a copy that nobody awaits.
  //
  // MAP: remark: packs 2 buffers of 512 bytes into 512 bytes
  //
  // CHECK-LABEL: gpu.func @unawaited
  gpu.func @unawaited(%x: !Global, %v: f32, %out: !Global) workgroup(%a: !Row, %after: !Row) kernel {
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %some = arith.cmpi ult, %t, %c32 : index
    scf.if %some {
      %token = gpux.copy async %x[%t], %a[%t], 1 : !Global to !Row
    }
    gpu.barrier
    memref.store %v, %after[%t] : !Row
    %u = memref.load %after[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpu.return
  }

  // A load without a token completes on an mbarrier, which is not followed.
  //
  // MAP: remark: packs 2 buffers of 512 bytes into 512 bytes
  //
  // CHECK-LABEL: gpu.func @on_an_mbarrier
  gpu.func @on_an_mbarrier(%x: !Global, %v: f32, %out: !Global) workgroup(%a: !Row, %after: !Row) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %ring = nvgpu.mbarrier.create -> !ring
    gpux.bulk_load %x, %a, %ring[%c0] : !Global to !Row, !ring
    gpu.barrier
    memref.store %v, %after[%t] : !Row
    %u = memref.load %after[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpu.return
  }

  // What is read first is what was there from the start.
  //
  // MAP: remark: packs 2 buffers of 512 bytes into 512 bytes
  //
  // CHECK-LABEL: gpu.func @given
  gpu.func @given(%v: f32, %p: i1, %out: !Global) workgroup(%a: !Row, %before: !Row) kernel {
    %t = gpu.thread_id x
    memref.store %v, %before[%t] : !Row
    %w = memref.load %before[%t] : !Row
    memref.store %w, %out[%t] : !Global
    gpu.barrier
    scf.if %p {
      memref.store %v, %a[%t] : !Row
    }
    gpu.barrier
    %u = memref.load %a[%t] : !Row
    memref.store %u, %out[%t] : !Global
    gpu.return
  }

  // Bytes of an uneven number stand in front of those that copies need aligned.
  //
  // MAP: remark: packs 2 buffers of 259 bytes into 259 bytes
  //
  // CHECK-LABEL: gpu.func @aligned
  gpu.func @aligned(%x: !Global, %v: i8, %out: !Global) workgroup(%small: memref<3xi8, #gpu.address_space<workgroup>>, %a: !Row) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    memref.store %v, %small[%c0] : memref<3xi8, #gpu.address_space<workgroup>>
    %first = gpux.copy async %x[%t], %a[%t], 1 : !Global to !Row
    async.await %first
    %w = memref.load %a[%t] : !Row
    memref.store %w, %out[%t] : !Global
    %u = memref.load %small[%c0] : memref<3xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
