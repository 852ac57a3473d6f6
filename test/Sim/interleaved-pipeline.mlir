// The interleaved pipeline of TVM's RFC 0077: two producers, and the consumer between them. Its prologue commits both
// copies of a stage as one group and its body commits them apart, so that `wait_group 5` is too much for the stages of
// the prologue: iterations 0 and 1 of the body read what may not be there, and none later does. (Where a slot is filled
// the second time, the first filling may still be on its way, for the same reason.)
//
// RUN: not async-sim %s --kernel=wait_5 | FileCheck %s --check-prefix=WAIT5
// RUN: async-sim %s --kernel=wait_3 | FileCheck %s --check-prefix=WAIT3
// RUN: async-sim %s --kernel=wait_3 --schedule=exhaustive | FileCheck %s --check-prefix=EVERY
// RUN: async-sim %s --kernel=prologue_apart | FileCheck %s --check-prefix=APART

!src = memref<16xf32>
!dst = memref<4xf32, 3>

// WAIT5: interleaved-pipeline.mlir:{{[0-9]+}}:{{[0-9]+}}: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
// WAIT5-NEXT: this: thread 0 of block 0, iteration 0 of the scf.for
// WAIT5-NEXT: seen in iterations 0 to 1 of the scf.for at
// WAIT5-NEXT: against: gpux.copy
// WAIT5: waited: last by gpux.wait_group at
// WAIT5: also: RAW of memref.load at {{.*}} and gpux.copy at
// WAIT5-NEXT: WAW of gpux.copy at {{.*}} and gpux.copy at
// WAIT5-NOT: race
// WAIT5: wait_5: not clean
func.func @wait_5(%a: !src, %b: !src, %c: !src) {
  %as = memref.alloc() : !dst
  %bs = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c13 = arith.constant 13 : index
  scf.for %k = %c0 to %c3 step %c1 {
    gpux.copy %a[%k], %as[%k], 1 : !src to !dst
    gpux.copy %b[%k], %bs[%k], 1 : !src to !dst
    gpux.commit_group <cp_async>
  }
  scf.for %i = %c0 to %c13 step %c1 {
    %next = arith.addi %i, %c3 : index
    %slot = arith.remui %next, %c4 : index
    %this = arith.remui %i, %c4 : index
    gpux.copy %a[%next], %as[%slot], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 5
    %x = memref.load %as[%this] : !dst
    %y = memref.load %bs[%this] : !dst
    %z = arith.addf %x, %y : f32
    memref.store %z, %c[%i] : !src
    gpux.copy %b[%next], %bs[%slot], 1 : !src to !dst
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 0
  return
}

// Where nobody looks too early there is one outcome, and one run.
//
// WAIT3: wait_3: clean (1 run of
// EVERY: wait_3: clean (1 run, which stands for every schedule,
func.func @wait_3(%a: !src, %b: !src, %c: !src) {
  %as = memref.alloc() : !dst
  %bs = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c13 = arith.constant 13 : index
  scf.for %k = %c0 to %c3 step %c1 {
    gpux.copy %a[%k], %as[%k], 1 : !src to !dst
    gpux.copy %b[%k], %bs[%k], 1 : !src to !dst
    gpux.commit_group <cp_async>
  }
  scf.for %i = %c0 to %c13 step %c1 {
    %next = arith.addi %i, %c3 : index
    %slot = arith.remui %next, %c4 : index
    %this = arith.remui %i, %c4 : index
    gpux.copy %a[%next], %as[%slot], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 3
    %x = memref.load %as[%this] : !dst
    %y = memref.load %bs[%this] : !dst
    %z = arith.addf %x, %y : f32
    memref.store %z, %c[%i] : !src
    gpux.copy %b[%next], %bs[%slot], 1 : !src to !dst
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 0
  return
}

// APART: prologue_apart: clean
func.func @prologue_apart(%a: !src, %b: !src, %c: !src) {
  %as = memref.alloc() : !dst
  %bs = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c13 = arith.constant 13 : index
  scf.for %k = %c0 to %c3 step %c1 {
    gpux.copy %a[%k], %as[%k], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.copy %b[%k], %bs[%k], 1 : !src to !dst
    gpux.commit_group <cp_async>
  }
  scf.for %i = %c0 to %c13 step %c1 {
    %next = arith.addi %i, %c3 : index
    %slot = arith.remui %next, %c4 : index
    %this = arith.remui %i, %c4 : index
    gpux.copy %a[%next], %as[%slot], 1 : !src to !dst
    gpux.commit_group <cp_async>
    gpux.wait_group <cp_async>, 5
    %x = memref.load %as[%this] : !dst
    %y = memref.load %bs[%this] : !dst
    %z = arith.addf %x, %y : f32
    memref.store %z, %c[%i] : !src
    gpux.copy %b[%next], %bs[%slot], 1 : !src to !dst
    gpux.commit_group <cp_async>
  }
  gpux.wait_group <cp_async>, 0
  return
}
