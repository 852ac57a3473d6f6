// Copies that no group commits are never waited for, whatever the waits say. Upstream's pipeliner makes such loops of
// copies that had no `create_group`.
//
// RUN: not async-sim %s | FileCheck %s

!src = memref<64xf32>
!dst = memref<16xf32, #gpu.address_space<workgroup>>

// CHECK: error: RAW race: memref.load reads what an asynchronous copy has not been seen to write
// CHECK-NEXT: this: thread 0 of block 0, iteration 0 of the scf.for
// CHECK: note: nvgpu.device_async_copy: no group is committed after this, so that no wait waits for it
// CHECK: help: commit a group after it
// CHECK: never_committed: not clean
func.func @never_committed(%src: !src, %out: !src) {
  %dst = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %t = nvgpu.device_async_copy %src[%i], %dst[%i], 1 : !src to !dst
    nvgpu.device_async_wait %t {numGroups = 0 : i32}
    %x = memref.load %dst[%i] : !dst
    memref.store %x, %out[%i] : !src
  }
  return
}
