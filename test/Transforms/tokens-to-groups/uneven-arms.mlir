// Arms that can't be made equal stay, with a remark.
//
// RUN: async-opt %s --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @unknown_trip_count
// CHECK: gpux.wait_group <cp_async>, 0
func.func @unknown_trip_count(%src: !src, %dst: !dst, %i: index, %n: index, %c: i1) {
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  // expected-remark @+1 {{the paths that meet here commit different numbers of groups, and a loop of unknown trip count on one of them keeps them from being made equal; waits behind may wait for more than they name}}
  scf.if %c {
    scf.for %k = %i to %n step %i {
      %u = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    }
  }
  async.await %t
  return
}
