// The result of a multiplication that is not complete is of use to the next one alone, which adds to it.

// RUN: not async-opt %s --gpux-tokens-to-groups --split-input-file -o /dev/null 2>&1 | FileCheck %s

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// Each awaits what it has to, also within an operation.
// CHECK-NOT: error
func.func @in_time(%a: !m, %c: !acc, %out: memref<64x64xf32>, %p: i1) {
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  %e, %u = gpux.wgmma async %a, %a, %d : !m, !m, !acc
  scf.if %p {
    async.await %u
    nvgpu.warpgroup.mma.store %e, %out : !acc to memref<64x64xf32>
  }
  %f, %v = gpux.wgmma async %a, %a, %e : !m, !m, !acc
  async.await %v
  nvgpu.warpgroup.mma.store %f, %out : !acc to memref<64x64xf32>
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @stored(%a: !m, %c: !acc, %out: memref<64x64xf32>) {
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+3]]:3: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication that is not complete
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:12: note: await the token of this before
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
  async.await %t
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @two_add(%a: !m, %c: !acc, %out: memref<64x64xf32>) {
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  %e, %u = gpux.wgmma async %a, %a, %d : !m, !m, !acc
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+3]]:12: error: 'gpux.wgmma' op uses the result of a multiplication again, which another one adds to before it is complete: that would take a copy
  // CHECK: wgmma-early-uses.mlir:[[#@LINE-2]]:12: note: this adds to the result
  // CHECK: wgmma-early-uses.mlir:[[#@LINE-4]]:12: note: await the token of this before that
  %f, %v = gpux.wgmma async %a, %a, %d : !m, !m, !acc
  async.await %t, %u, %v
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// Its own await is too late, since the registers have changed by then.
func.func @added_to(%a: !m, %c: !acc, %out: memref<64x64xf32>) {
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  %e, %u = gpux.wgmma async %a, %a, %d : !m, !m, !acc
  async.await %t
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:3: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication again
  nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
  async.await %u
  return
}
