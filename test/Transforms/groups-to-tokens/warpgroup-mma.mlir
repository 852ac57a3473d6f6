// Upstream's nvgpu.warpgroup.mma multiplies, commits and waits (waitGroup, 1 by default): so it becomes a multiplication with a
// token, and an await of those that its wait newly completes.
//
// RUN: async-opt %s --gpux-groups-to-tokens --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not async-opt %s --gpux-groups-to-tokens --gpux-tokens-to-groups --split-input-file 2>%t.err | FileCheck %s --check-prefix=COUNTED
// RUN: FileCheck %s --check-prefix=ERROR < %t.err

!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

gpu.module @m {
  // The first wait leaves the first group in flight; the second one completes it. The last one is for all.
  // CHECK-LABEL: gpu.func @straight
  // CHECK: %[[D:.*]], %[[T:.*]] = gpux.wgmma async %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-NEXT: %[[E:.*]], %[[U:.*]] = gpux.wgmma async %{{.*}}, %{{.*}}, %[[D]] :
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: %[[F:.*]], %[[V:.*]] = gpux.wgmma async %{{.*}}, %{{.*}}, %[[E]] :
  // CHECK-NEXT: async.await %[[U]], %[[V]]
  // CHECK-NEXT: nvgpu.warpgroup.mma.store %[[F]]
  //
  // COUNTED-LABEL: gpu.func @straight
  // COUNTED: gpux.wgmma
  // COUNTED-NEXT: gpux.commit_group <wgmma>
  // COUNTED-NEXT: gpux.wgmma
  // COUNTED-NEXT: gpux.wait_group <wgmma>, 0
  // COUNTED-NEXT: gpux.wgmma
  // COUNTED-NEXT: gpux.commit_group <wgmma>
  // COUNTED-NEXT: gpux.wait_group <wgmma>, 0
  gpu.func @straight(%a: !a, %b: !b, %out: memref<128x128xf32>) kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB} : !a, !b, !acc -> !acc
    %e = nvgpu.warpgroup.mma %a, %b, %d {transposeB} : !a, !b, !acc -> !acc
    %f = nvgpu.warpgroup.mma %a, %b, %e {transposeB, waitGroup = 0} : !a, !b, !acc -> !acc
    nvgpu.warpgroup.mma.store %f, %out : !acc to memref<128x128xf32>
    gpu.return
  }
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
gpu.module @m {
  // One group stays in flight in the loop, and nobody waits for the last one, as upstream has it.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}) -> (!nvgpu.warpgroup.accumulator<{{.*}}>, !async.token)
  // CHECK: %[[NEXT:.*]], %[[T:.*]] = gpux.wgmma async %{{.*}}, %{{.*}}, %[[SUM]]
  // CHECK: async.await %[[BEFORE]]
  // CHECK: scf.yield %[[NEXT]], %[[T]]
  gpu.func @loop(%a: !a, %b: !b, %n: index, %out: memref<128x128xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> !acc {
      %next = nvgpu.warpgroup.mma %a, %b, %sum {transposeB} : !a, !b, !acc -> !acc
      scf.yield %next : !acc
    }
    // ERROR: warpgroup-mma.mlir:[[#@LINE+1]]:5: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication that may not be complete
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<128x128xf32>
    gpu.return
  }
}

// -----

// Without transposeB, upstream multiplies something else than the types say. Then nothing of the queue has tokens.
!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @other_matrices
  // CHECK: nvgpu.warpgroup.mma
  // CHECK: nvgpu.warpgroup.mma
  // CHECK: gpux.wgmma %
  gpu.func @other_matrices(%a: !a, %b: !b) kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB} : !a, !b, !acc -> !acc
    // expected-remark @+1 {{queue wgmma stays in counted form: upstream multiplies the matrices that its types say only with transposeB, and without transposeA}}
    %e = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !acc -> !acc
    %f = gpux.wgmma %a, %b, %c : !a, !b, !acc
    gpux.commit_group <wgmma>
    gpux.wait_group <wgmma>, 0
    gpu.return
  }
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @count
  // CHECK: nvgpu.warpgroup.mma
  gpu.func @count(%a: !a, %b: !b) kernel {
    %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
    // expected-remark @+1 {{queue wgmma stays in counted form: waitGroup is 8, but the hardware counts from 0 to 7}}
    %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB, waitGroup = 8} : !a, !b, !acc -> !acc
    gpu.return
  }
}
