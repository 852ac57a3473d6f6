// The `bulk` queue has one sequence of groups and two completions. Each await gets the largest count of its own kind.
//
// RUN: async-opt %s --gpux-tokens-to-groups | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false unroll-limit=0' | FileCheck %s --check-prefixes=CHECK,PLAIN

!t = !async.token
!shared = memref<1024xf32, #gpu.address_space<workgroup>>
!global = memref<1024xf32>

// Neither wait implies the other: one lets the second group be written later, the other has it read. One barrier.
// CHECK-LABEL: func.func @both_waits
// CHECK: gpux.wait_group <bulk>, 1{{$}}
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @both_waits(%a: !shared, %b: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  async.await %d0, %r1
  return
}

// The full wait has the older one read as well.
// CHECK-LABEL: func.func @done_of_the_younger
// CHECK: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @done_of_the_younger(%a: !shared, %b: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
  async.await %r0, %d1
  return
}

// Five stores go round two buffers. Each waits for the store of the one before last, but for the first: an odd number
// comes round to the same buffer, whose last store is then the youngest group of all.
// CHECK-LABEL: func.func @five_in_two_buffers
// CHECK: scf.for
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// PLAIN: gpux.bulk_store %arg0
// PLAIN: gpux.bulk_store %arg1
// PLAIN: gpux.wait_group <bulk>, 1 read
// PLAIN: gpux.bulk_store %arg0
// PLAIN: gpux.wait_group <bulk>, 1 read
// PLAIN: gpux.bulk_store %arg1
// PLAIN: gpux.wait_group <bulk>, 1 read
// PLAIN: gpux.bulk_store %arg0
// PLAIN: gpux.commit_group <bulk>
// PLAIN-NEXT: }
// PLAIN-NEXT: gpux.wait_group <bulk>, 0 read
// PLAIN-NEXT: gpu.barrier
// PLAIN-NEXT: return
func.func @five_in_two_buffers(%a: !shared, %b: !shared, %dst: !global, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = async.ready
  %x, %y = scf.for %k = %c0 to %n step %c1 iter_args(%last = %none, %before = %none) -> (!t, !t) {
    async.await %last
    %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
    async.await %before
    %r1, %d1 = gpux.bulk_store async %b, %dst : !shared to !global
    async.await %r0
    %r2, %d2 = gpux.bulk_store async %a, %dst : !shared to !global
    async.await %r1
    %r3, %d3 = gpux.bulk_store async %b, %dst : !shared to !global
    async.await %r2
    %r4, %d4 = gpux.bulk_store async %a, %dst : !shared to !global
    scf.yield %r4, %r3 : !t, !t
  }
  async.await %x
  return
}

// Two buffers, reused when read; the store of two iterations ago is awaited in full, for what reads the destination.
// CHECK-LABEL: func.func @rotation
// CHECK: scf.for
// CHECK: gpux.commit_group <bulk>
// CHECK-NEXT: gpux.wait_group <bulk>, 2{{$}}
// CHECK-NEXT: gpux.wait_group <bulk>, 1 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
func.func @rotation(%a: !shared, %dst: !global, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = async.ready
  %x:4 = scf.for %k = %c0 to %n step %c1
      iter_args(%d0 = %none, %d1 = %none, %r0 = %none, %r1 = %none) -> (!t, !t, !t, !t) {
    %r2, %d2 = gpux.bulk_store async %a, %dst : !shared to !global
    async.await %d0, %r1
    scf.yield %d1, %d2, %r1, %r2 : !t, !t, !t, !t
  }
  return
}

// A wait for reads alone says nothing of writes, whoever wrote it. The store is in the group that the given commit closes,
// so the given wait is for it. The thread that waited knows that its sources are read; the barrier is how the others do.
// CHECK-LABEL: func.func @given_read_wait
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpux.wait_group <bulk>, 0{{$}}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @given_read_wait(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  gpux.commit_group <bulk>
  gpux.wait_group <bulk>, 0 read
  async.await %r0
  async.await %d0
  return
}

// CHECK-LABEL: func.func @upstreams_wait
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func @upstreams_wait(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  async.await %r0
  return
}

// An await that another one's wait implies, and no given one, takes no barrier of its own.
// CHECK-LABEL: func.func @given_wait_behind
// CHECK: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: gpux.wait_group <bulk>, 0 read
// CHECK-NEXT: return
func.func @given_wait_behind(%a: !shared, %dst: !global) {
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  async.await %r0
  gpux.wait_group <bulk>, 0 read
  async.await %r0
  return
}

// Stores in issued form that are there already count.
// CHECK-LABEL: func.func @given_stores
// CHECK: gpux.wait_group <bulk>, 1 read
func.func @given_stores(%a: !shared, %b: !shared, %dst: !global) {
  %leader = gpux.elect
  %r0, %d0 = gpux.bulk_store async %a, %dst : !shared to !global
  scf.if %leader {
    gpux.bulk_store %b, %dst : !shared to !global
  }
  gpux.commit_group <bulk>
  async.await %r0
  return
}
