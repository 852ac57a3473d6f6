// An empty group of wgmma costs a multiplication: the pass makes none, and says where a commit of the input may.
//
// RUN: async-opt %s --split-input-file --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!t = !async.token

// In token form, the commit stands where the multiplication is.
// CHECK-LABEL: func.func @tokens
// CHECK: scf.if
// CHECK-NEXT: gpux.wgmma
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NOT: gpux.commit_group
// CHECK: gpux.wait_group <wgmma>, 0
func.func @tokens(%a: !m, %c: !acc, %p: i1) -> !acc {
  %ready = async.ready
  %d, %t = scf.if %p -> (!acc, !t) {
    %e, %u = gpux.wgmma async %a, %a, %c : !m, !m, !acc
    scf.yield %e, %u : !acc, !t
  } else {
    scf.yield %c, %ready : !acc, !t
  }
  async.await %t
  return %d : !acc
}

// So it does in a loop.
// CHECK-LABEL: func.func @tokens_of_a_loop
// CHECK: scf.for
// CHECK-NEXT: gpux.wgmma
// CHECK-NEXT: gpux.commit_group <wgmma>
// CHECK-NOT: gpux.commit_group
// CHECK: gpux.wait_group <wgmma>, 0
func.func @tokens_of_a_loop(%a: !m, %c: !acc, %n: index, %s: index) -> !acc {
  %ready = async.ready
  %d, %t = scf.for %i = %s to %n step %s iter_args(%sum = %c, %u = %ready) -> (!acc, !t) {
    %e, %v = gpux.wgmma async %a, %a, %sum : !m, !m, !acc
    scf.yield %e, %v : !acc, !t
  }
  async.await %t
  return %d : !acc
}

func.func @after_a_branch(%a: !m, %c: !acc, %p: i1) {
  scf.if %p {
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
  }
  // expected-remark @+2 {{may commit an empty group, which is not free on queue wgmma: on some path, nothing is issued before it since the last commit}}
  // expected-note @+1 {{commit in the branch that issues}}
  gpux.commit_group <wgmma>
  gpux.wait_group <wgmma>, 0
  return
}

// Around the loop, too.
func.func @in_a_loop(%a: !m, %c: !acc, %p: i1, %n: index, %s: index) {
  scf.for %i = %s to %n step %s {
    scf.if %p {
      %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
    }
    // expected-remark @+2 {{may commit an empty group}}
    // expected-note @+1 {{commit in the branch that issues}}
    gpux.commit_group <wgmma>
  }
  gpux.wait_group <wgmma>, 0
  return
}

// Something is issued on each path.
func.func @never_empty(%a: !m, %c: !acc, %p: i1) {
  %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
  scf.if %p {
    %e = gpux.wgmma %a, %a, %d : !m, !m, !acc
  }
  gpux.commit_group <wgmma>
  scf.if %p {
    %e = gpux.wgmma %a, %a, %c : !m, !m, !acc
  } else {
    %e = gpux.wgmma %a, %a, %c {transpose_b} : !m, !m, !acc
  }
  gpux.commit_group <wgmma>
  gpux.wait_group <wgmma>, 0
  return
}

// The loop may not run, but mostly does.
func.func @after_a_loop(%a: !m, %c: !acc, %n: index, %s: index) {
  scf.for %i = %s to %n step %s {
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
  }
  gpux.commit_group <wgmma>
  gpux.wait_group <wgmma>, 0
  return
}

// On this queue, empty groups are free.
func.func @copies(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %p: i1) {
  scf.if %p {
    gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  }
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  return
}

// -----

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

// The call may multiply.
func.func private @other()
func.func @calls(%a: !m, %c: !acc, %p: i1) {
  scf.if %p {
    %d = gpux.wgmma %a, %a, %c : !m, !m, !acc
  } else {
    func.call @other() : () -> ()
  }
  gpux.commit_group <wgmma>
  gpux.wait_group <wgmma>, 0
  return
}

// Nothing is known of what is in it.
func.func @unknown() {
  gpux.commit_group <wgmma>
  gpux.wait_group <wgmma>, 0
  return
}
