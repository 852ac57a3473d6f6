// Counted kernels from elsewhere: what upstream's pipeliner makes, run as it is. Its copies past the last iteration read
// nothing, and so the source may end where the loop does. Where the front end made no groups, it makes none either, and
// its waits wait for nothing.
//
// RUN: mlir-opt %s --transform-interpreter --canonicalize --cse | async-sim --kernel=grouped --arg 0=ramp --print \
// RUN:   | FileCheck %s --check-prefix=GROUPED
// RUN: mlir-opt %s --transform-interpreter | async-opt --nvgpu-exact-waits | async-sim --kernel=grouped --arg 0=ramp --print \
// RUN:   | FileCheck %s --check-prefix=GROUPED
// RUN: mlir-opt %s --transform-interpreter > %t.mlir
// RUN: not async-sim %t.mlir --kernel=without_groups | FileCheck %s --check-prefix=WITHOUT

!src = memref<32xf32>
!shared = memref<4x4xf32, 3>

// GROUPED: grouped: clean
// GROUPED: argument 1: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
func.func @grouped(%src: !src, %out: !src) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %shared = memref.alloc() : !shared
  scf.for %i = %c0 to %c32 step %c4 {
    %number = arith.divui %i, %c4 : index
    %slot = arith.remui %number, %c4 : index
    %a = nvgpu.device_async_copy %src[%i], %shared[%slot, %c0], 4 : !src to !shared
    %g = nvgpu.device_async_create_group %a
    nvgpu.device_async_wait %g
    %v = vector.load %shared[%slot, %c0] : !shared, vector<4xf32>
    vector.store %v, %out[%i] : !src, vector<4xf32>
  }
  return
}

// WITHOUT: error: RAW race: vector.load reads what an asynchronous copy has not been seen to write
// WITHOUT: note: nvgpu.device_async_copy: no group is committed after this, so that no wait waits for it
// WITHOUT: without_groups: not clean
func.func @without_groups(%src: !src, %out: !src) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %shared = memref.alloc() : !shared
  scf.for %i = %c0 to %c32 step %c4 {
    %number = arith.divui %i, %c4 : index
    %slot = arith.remui %number, %c4 : index
    %a = nvgpu.device_async_copy %src[%i], %shared[%slot, %c0], 4 : !src to !shared
    nvgpu.device_async_wait %a
    %v = vector.load %shared[%slot, %c0] : !shared, vector<4xf32>
    vector.store %v, %out[%i] : !src, vector<4xf32>
  }
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %loops = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      %p = transform.nvgpu.pipeline_shared_memory_copies failures(propagate) %loop {depth = 3} : (!transform.any_op) -> !transform.any_op
    }
    transform.yield
  }
}
