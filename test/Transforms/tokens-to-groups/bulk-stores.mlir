// A block-wide store is issued by one thread, after a fence and a barrier of all of them. An await is the wait of that
// thread, after which a barrier tells the others.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-tokens-to-groups | FileCheck %s

!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>
!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

// CHECK-LABEL: func.func @reuse_then_done
// CHECK-NEXT: %[[LEADER:.*]] = gpux.elect
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.if %[[LEADER]] {
// CHECK-NEXT:   gpux.bulk_store %arg0, %arg1 : memref<1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpux.wait_group <bulk>, 0
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @reuse_then_done(%src: !shared, %dst: !global, %v: f32, %i: index) {
  memref.store %v, %src[%i] : !shared
  %read, %done = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %read
  memref.store %v, %src[%i] : !shared
  async.await %done
  return
}

// CHECK-LABEL: func.func @tile
// CHECK: scf.if
// CHECK-NEXT: gpux.tma_store %arg0, %arg1[%arg2, %arg2] {mark} : memref<16x64xf32, 3>, !nvgpu.tensormap.descriptor
func.func @tile(%src: memref<16x64xf32, 3>, %tensor: !tile, %i: index) {
  %read, %done = gpux.tma_store async %src, %tensor[%i, %i] {mark} : memref<16x64xf32, 3>, !tile
  async.await %done
  return
}

// What is written has been read: one wait, and one barrier for it. The second await adds nothing.
// CHECK-LABEL: func.func @done_is_read
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @done_is_read(%src: !shared, %dst: !global) {
  %read, %done = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %read, %done
  async.await %read
  return
}

// What is read is not written.
// CHECK-LABEL: func.func @read_is_not_done
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @read_is_not_done(%src: !shared, %dst: !global) {
  %read, %done = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %read
  async.await %done
  return
}

// Nothing has touched the buffers between two stores, so one fence and one barrier do.
// CHECK-LABEL: func.func @one_guard
// CHECK-COUNT-1: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: gpu.barrier
// CHECK: scf.if
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: return
func.func @one_guard(%a: memref<2048xf32, 3>, %dst: !global) {
  %first = memref.subview %a[0] [1024] [1] : memref<2048xf32, 3> to memref<1024xf32, strided<[1]>, 3>
  %r0, %d0 = gpux.bulk_store async %first, %dst : memref<1024xf32, strided<[1]>, 3> to !global
  %second = memref.subview %a[1024] [1024] [1] : memref<2048xf32, 3> to memref<1024xf32, strided<[1], offset: 1024>, 3>
  %r1, %d1 = gpux.bulk_store async %second, %dst : memref<1024xf32, strided<[1], offset: 1024>, 3> to !global
  return
}

// Something has, or may have.
// CHECK-LABEL: func.func @two_guards
// CHECK-COUNT-2: nvvm.fence.proxy
func.func @two_guards(%a: !shared, %b: !shared, %dst: !global, %v: f32, %i: index) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  memref.store %v, %b[%i] : !shared
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  return
}

// There is one leader in a function, known from its start.
// CHECK-LABEL: func.func @one_leader
// CHECK-NEXT: %[[LEADER:.*]] = gpux.elect
// CHECK-NOT: gpux.elect
// CHECK: scf.for
// CHECK: scf.if %[[LEADER]]
// CHECK: scf.if %[[LEADER]]
// CHECK: "test.use"(%[[LEADER]])
func.func @one_leader(%src: !shared, %dst: !global, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %r0, %d0 = gpux.bulk_store async %src, %dst : !shared to !global
    async.await %r0
  }
  %r1, %d1 = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %d1
  %leader = gpux.elect
  "test.use"(%leader) : (i1) -> ()
  return
}

// A dependency is awaited before, by all threads. Nothing has touched the source since the first store.
// CHECK-LABEL: func.func @after
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.if
func.func @after(%src: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %src, %dst : !shared to !global
  %r1, %d1 = gpux.bulk_store async [%d0] %src, %dst : !shared to !global
  return
}

// The program's own barrier after the await tells the others.
// CHECK-LABEL: func.func @own_barrier
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
func.func @own_barrier(%src: !shared, %dst: !global, %v: f32, %i: index) {
  %read, %done = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %read
  gpu.barrier
  memref.store %v, %src[%i] : !shared
  return
}

// A barrier of the program's own right before a store is the one that is needed: the fence comes before it.
// CHECK-LABEL: func.func @barrier_before
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.if
func.func @barrier_before(%src: !shared, %dst: !global, %v: f32, %i: index) {
  memref.store %v, %src[%i] : !shared
  gpu.barrier
  %read, %done = gpux.bulk_store async %src, %dst : !shared to !global
  async.await %done
  return
}
