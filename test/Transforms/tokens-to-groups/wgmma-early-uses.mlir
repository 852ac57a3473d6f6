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

// What is added to in a branch is of the same iteration.
func.func @in_a_branch_of_its_iteration(%a: !m, %c: !acc, %n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (!acc) {
    %e = scf.if %p -> !acc {
      %d, %t = gpux.wgmma async %a, %a, %s : !m, !m, !acc
      %e, %u = scf.if %p -> (!acc, !async.token) {
        %f, %v = gpux.wgmma async %a, %a, %d : !m, !m, !acc
        scf.yield %f, %v : !acc, !async.token
      } else {
        scf.yield %d, %t : !acc, !async.token
      }
      async.await %u
      scf.yield %e : !acc
    } else {
      scf.yield %s : !acc
    }
    scf.yield %e : !acc
  }
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @stored(%a: !m, %c: !acc, %out: memref<64x64xf32>) {
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+3]]:3: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication that may not be complete
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:12: note: this one: await its token before
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

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// The token of another multiplication.
func.func @other_token(%a: !m, %c: !acc, %out: memref<64x64xf32>) {
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  %e, %u = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  async.await %t
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:3: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication that may not be complete
  nvgpu.warpgroup.mma.store %e, %out : !acc to memref<64x64xf32>
  async.await %u
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// Which of two is used, data says.
func.func @selected(%a: !m, %c: !acc, %p: i1) {
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:8: error: 'arith.select' op uses the result of a multiplication that may not be complete
  %s = arith.select %p, %d, %c : !acc
  %e, %u = gpux.wgmma async %a, %a, %s : !m, !m, !acc
  async.await %u
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// The first iteration of the loop stores what nobody has awaited; what it awaits itself is the one before.
func.func @in_a_loop(%a: !m, %c: !acc, %n: index, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  %s, %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %d, %before = %t) -> (!acc, !async.token) {
    // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:5: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication that may not be complete
    nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<64x64xf32>
    %e, %u = gpux.wgmma async %a, %a, %sum : !m, !m, !acc
    async.await %before
    scf.yield %e, %u : !acc, !async.token
  }
  async.await %last
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// After the loop, one is in flight.
func.func @after_a_loop(%a: !m, %c: !acc, %n: index, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %s, %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c, %before = %ready) -> (!acc, !async.token) {
    %e, %u = gpux.wgmma async %a, %a, %sum : !m, !m, !acc
    async.await %before
    scf.yield %e, %u : !acc, !async.token
  }
  // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:3: error: 'nvgpu.warpgroup.mma.store' op uses the result of a multiplication that may not be complete
  nvgpu.warpgroup.mma.store %s, %out : !acc to memref<64x64xf32>
  async.await %last
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// Each iteration adds to the same numbers, which the first one changes.
func.func @added_to_in_a_loop(%a: !m, %c: !acc, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  %s, %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %d, %before = %t) -> (!acc, !async.token) {
    // CHECK: wgmma-early-uses.mlir:[[#@LINE+1]]:14: error: 'gpux.wgmma' op adds to the result of one multiplication, which may not be complete, again and again: that would take copies
    %e, %u = gpux.wgmma async %a, %a, %d : !m, !m, !acc
    async.await %before
    scf.yield %e, %u : !acc, !async.token
  }
  async.await %last
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
// What is awaited under a condition may be used under the same.
// CHECK-NOT: error
func.func @same_condition(%a: !m, %c: !acc, %p: i1, %out: memref<64x64xf32>) {
  %d, %t = gpux.wgmma async %a, %a, %c : !m, !m, !acc
  scf.if %p {
    async.await %t
  }
  scf.if %p {
    nvgpu.warpgroup.mma.store %d, %out : !acc to memref<64x64xf32>
  }
  async.await %t
  return
}
