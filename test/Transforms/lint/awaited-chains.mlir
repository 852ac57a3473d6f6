// Multiplications that add to one result are complete in order: to await the last is to await all, also around a loop. One that nothing
// awaited adds to gets a warning.
//
// RUN: async-opt %s --gpux-lint --verify-diagnostics -o /dev/null

!m = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>

func.func @last_is_awaited(%d: !m, %z: !acc) -> !acc {
  %e0, %t0 = gpux.wgmma async %d, %d, %z : !m, !m, !acc
  %e1, %t1 = gpux.wgmma async %d, %d, %e0 : !m, !m, !acc
  %e2, %t2 = gpux.wgmma async %d, %d, %e1 : !m, !m, !acc
  async.await %t2
  return %e2 : !acc
}

func.func @around_a_loop(%d: !m, %z: !acc, %n: index, %q: i1) -> !acc {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!acc) {
    %e0, %t0 = gpux.wgmma async %d, %d, %acc : !m, !m, !acc
    %e1 = scf.if %q -> (!acc) {
      %e, %t = gpux.wgmma async %d, %d, %e0 : !m, !m, !acc
      scf.yield %e : !acc
    } else {
      scf.yield %e0 : !acc
    }
    scf.yield %e1 : !acc
  }
  %last, %t = gpux.wgmma async %d, %d, %sum : !m, !m, !acc
  async.await %t
  return %last : !acc
}

func.func @nothing_is_awaited(%d: !m, %z: !acc) {
  // expected-warning @+2 {{has a token that nobody awaits}}
  // expected-note @+1 {{await the token}}
  %e0, %t0 = gpux.wgmma async %d, %d, %z : !m, !m, !acc
  // expected-warning @+2 {{has a token that nobody awaits}}
  // expected-note @+1 {{await the token}}
  %e1, %t1 = gpux.wgmma async %d, %d, %e0 : !m, !m, !acc
  return
}

// What is awaited adds to another result.
func.func @another_is_awaited(%d: !m, %z: !acc) -> !acc {
  // expected-warning @+2 {{has a token that nobody awaits}}
  // expected-note @+1 {{await the token}}
  %e0, %t0 = gpux.wgmma async %d, %d, %z : !m, !m, !acc
  %e1, %t1 = gpux.wgmma async %d, %d, %z : !m, !m, !acc
  async.await %t1
  return %e1 : !acc
}
