// A kernel that is right only if its copy lands early: the memory tells under one schedule, the report under all.
//
// RUN: not async-sim %s --arg 0=ramp --schedule=early --print | FileCheck %s --check-prefixes=CHECK,EARLY
// RUN: not async-sim %s --arg 0=ramp --schedule=late --print | FileCheck %s --check-prefixes=CHECK,LATE
// RUN: not async-sim %s --arg 0=ramp --schedule=exhaustive | FileCheck %s
// RUN: not async-sim %s --arg 0=ramp --schedule=random --runs=4 --seed=7 | FileCheck %s
// RUN: not async-sim %s --json | FileCheck %s --check-prefix=JSON

!src = memref<4xf32>
!dst = memref<4xf32, #gpu.address_space<workgroup>>

// CHECK: landing.mlir:[[#@LINE+19]]:8: error: RAW race: memref.load
// CHECK-NEXT: this: thread 0 of block 0
// CHECK-NEXT: against: gpux.copy at {{.*}}landing.mlir:[[#@LINE+14]]:3, thread 0 of block 0
// CHECK-NEXT: on: bytes 12 to 15 of workgroup buffer %dst (from element [3] on)
// EARLY: argument 1: {{.*}} 3{{$}}
// LATE: argument 1: {{.*}} NaN{{$}}

// JSON: "advice": "wait for the copy
// JSON: "op": "gpux.copy"
// JSON: "bytes": [
// JSON: "kind": "RAW"
// JSON: "kernel": "landing"
func.func @landing(%src: !src, %out: !src) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %dst = memref.alloc() : !dst
  gpux.copy %src[%c0], %dst[%c0], 4 : !src to !dst
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  %x = memref.load %dst[%c3] : !dst
  memref.store %x, %out[%c3] : !src
  return
}
