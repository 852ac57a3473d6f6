// RUN: sed 's/depth = 2/depth = 2/' %s | mlir-opt --transform-interpreter --canonicalize --cse \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=PEELED2
// RUN: sed 's/depth = 2/depth = 3/' %s | mlir-opt --transform-interpreter --canonicalize --cse \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=PEELED3
// RUN: sed 's/depth = 2/depth = 4/' %s | mlir-opt --transform-interpreter --canonicalize --cse \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=PEELED4
// RUN: sed 's/depth = 2/depth = 2/; s/, peel_epilogue//' %s | mlir-opt --transform-interpreter --canonicalize --cse \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=LOOP2
// RUN: sed 's/depth = 2/depth = 3/; s/, peel_epilogue//' %s | mlir-opt --transform-interpreter --canonicalize --cse \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=LOOP3
// RUN: sed 's/depth = 2/depth = 4/; s/, peel_epilogue//' %s | mlir-opt --transform-interpreter --canonicalize --cse \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=LOOP4

// RUN: sed 's/depth = 2/depth = 3/' %s | mlir-opt --transform-interpreter \
// RUN:   | async-opt --nvgpu-exact-waits | FileCheck %s --check-prefix=PEELED3

// What upstream's pipeliner makes of loops with one and two groups an iteration. It types `depth - 1`, which is exact for
// one group only.

// PEELED2-LABEL: func.func @one_group
// PEELED2: scf.for
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED2-NOT: nvgpu.device_async_wait
// PEELED2: scf.yield
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED2-NOT: nvgpu.device_async_wait
// PEELED2: return

// LOOP2-LABEL: func.func @one_group
// LOOP2: scf.for
// LOOP2: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// LOOP2-NOT: nvgpu.device_async_wait
// LOOP2: scf.yield
// LOOP2-NOT: nvgpu.device_async_wait
// LOOP2: return

// PEELED3-LABEL: func.func @one_group
// PEELED3: scf.for
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED3-NOT: nvgpu.device_async_wait
// PEELED3: scf.yield
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED3-NOT: nvgpu.device_async_wait
// PEELED3: return

// LOOP3-LABEL: func.func @one_group
// LOOP3: scf.for
// LOOP3: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// LOOP3-NOT: nvgpu.device_async_wait
// LOOP3: scf.yield
// LOOP3-NOT: nvgpu.device_async_wait
// LOOP3: return

// PEELED4-LABEL: func.func @one_group
// PEELED4: scf.for
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED4-NOT: nvgpu.device_async_wait
// PEELED4: scf.yield
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED4-NOT: nvgpu.device_async_wait
// PEELED4: return

// LOOP4-LABEL: func.func @one_group
// LOOP4: scf.for
// LOOP4: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// LOOP4-NOT: nvgpu.device_async_wait
// LOOP4: scf.yield
// LOOP4-NOT: nvgpu.device_async_wait
// LOOP4: return

func.func @one_group(%src: memref<1024xf32>, %out: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %shared = memref.alloc() : memref<4x4xf32, 3>
  scf.for %i = %c0 to %c32 step %c4 {
    %slot0 = arith.divui %i, %c4 : index
    %slot = arith.remui %slot0, %c4 : index
    %a = nvgpu.device_async_copy %src[%i], %shared[%slot, %c0], 4 : memref<1024xf32> to memref<4x4xf32, 3>
    %g = nvgpu.device_async_create_group %a
    nvgpu.device_async_wait %g
    %v = vector.load %shared[%slot, %c0] : memref<4x4xf32, 3>, vector<4xf32>
    vector.store %v, %out[%i] : memref<1024xf32>, vector<4xf32>
  }
  return
}

// PEELED2-LABEL: func.func @two_groups
// PEELED2: scf.for
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED2-NOT: nvgpu.device_async_wait
// PEELED2: scf.yield
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED2: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED2-NOT: nvgpu.device_async_wait
// PEELED2: return

// LOOP2-LABEL: func.func @two_groups
// LOOP2: scf.for
// LOOP2: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// LOOP2: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// LOOP2-NOT: nvgpu.device_async_wait
// LOOP2: scf.yield
// LOOP2-NOT: nvgpu.device_async_wait
// LOOP2: return

// PEELED3-LABEL: func.func @two_groups
// PEELED3: scf.for
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 4 : i32}
// PEELED3-NOT: nvgpu.device_async_wait
// PEELED3: scf.yield
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 4 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED3-NOT: nvgpu.device_async_wait
// PEELED3: return

// LOOP3-LABEL: func.func @two_groups
// LOOP3: scf.for
// LOOP3: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
// LOOP3: nvgpu.device_async_wait %{{.*}} {numGroups = 4 : i32}
// LOOP3-NOT: nvgpu.device_async_wait
// LOOP3: scf.yield
// LOOP3-NOT: nvgpu.device_async_wait
// LOOP3: return

// PEELED4-LABEL: func.func @two_groups
// PEELED4: scf.for
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 7 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 6 : i32}
// PEELED4-NOT: nvgpu.device_async_wait
// PEELED4: scf.yield
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 7 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 6 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 4 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED4: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED4-NOT: nvgpu.device_async_wait
// PEELED4: return

// LOOP4-LABEL: func.func @two_groups
// LOOP4: scf.for
// LOOP4: nvgpu.device_async_wait %{{.*}} {numGroups = 7 : i32}
// LOOP4: nvgpu.device_async_wait %{{.*}} {numGroups = 6 : i32}
// LOOP4-NOT: nvgpu.device_async_wait
// LOOP4: scf.yield
// LOOP4-NOT: nvgpu.device_async_wait
// LOOP4: return

func.func @two_groups(%src: memref<1024xf32>, %src_b: memref<1024xf32>, %out: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %shared = memref.alloc() : memref<4x4xf32, 3>
  %shared_b = memref.alloc() : memref<4x4xf32, 3>
  scf.for %i = %c0 to %c32 step %c4 {
    %slot0 = arith.divui %i, %c4 : index
    %slot = arith.remui %slot0, %c4 : index
    %a = nvgpu.device_async_copy %src[%i], %shared[%slot, %c0], 4 : memref<1024xf32> to memref<4x4xf32, 3>
    %g = nvgpu.device_async_create_group %a
    %b = nvgpu.device_async_copy %src_b[%i], %shared_b[%slot, %c0], 4 : memref<1024xf32> to memref<4x4xf32, 3>
    %gb = nvgpu.device_async_create_group %b
    nvgpu.device_async_wait %g
    %v = vector.load %shared[%slot, %c0] : memref<4x4xf32, 3>, vector<4xf32>
    vector.store %v, %out[%i] : memref<1024xf32>, vector<4xf32>
    nvgpu.device_async_wait %gb
    %vb = vector.load %shared_b[%slot, %c0] : memref<4x4xf32, 3>, vector<4xf32>
    vector.store %vb, %out[%i] : memref<1024xf32>, vector<4xf32>
  }
  return
}

// What consumes the tiles is not known, and is not handed them: it can't read them.

// PEELED3-LABEL: func.func @consumed_by_calls
// PEELED3: scf.for
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
// PEELED3: call @consume
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 4 : i32}
// PEELED3-NOT: nvgpu.device_async_wait
// PEELED3: scf.yield
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 4 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 3 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
// PEELED3: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// PEELED3-NOT: nvgpu.device_async_wait
// PEELED3: return

func.func private @consume()
func.func @consumed_by_calls(%src: memref<1024xf32>, %src_b: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %shared = memref.alloc() : memref<4x4xf32, 3>
  %shared_b = memref.alloc() : memref<4x4xf32, 3>
  scf.for %i = %c0 to %c32 step %c4 {
    %slot0 = arith.divui %i, %c4 : index
    %slot = arith.remui %slot0, %c4 : index
    %a = nvgpu.device_async_copy %src[%i], %shared[%slot, %c0], 4 : memref<1024xf32> to memref<4x4xf32, 3>
    %g = nvgpu.device_async_create_group %a
    %b = nvgpu.device_async_copy %src_b[%i], %shared_b[%slot, %c0], 4 : memref<1024xf32> to memref<4x4xf32, 3>
    %gb = nvgpu.device_async_create_group %b
    nvgpu.device_async_wait %g
    func.call @consume() : () -> ()
    nvgpu.device_async_wait %gb
    func.call @consume() : () -> ()
  }
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %loops = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      %p = transform.nvgpu.pipeline_shared_memory_copies failures(propagate) %loop {depth = 2, peel_epilogue} : (!transform.any_op) -> !transform.any_op
    }
    transform.yield
  }
}
