// Threads that skip copies have fewer groups, and count what they have.
//
// RUN: async-opt %s --gpux-tokens-to-groups=form-groups=false | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false balance=false' | FileCheck %s --check-prefixes=CHECK,PLAIN

!global = memref<64xf32>
!shared = memref<64xf32, #gpu.address_space<workgroup>>

// A thread may get no iteration of a parallel loop: then the first copy is the newest group, but for an empty one.
// CHECK-LABEL: func @forall
// CHECK:       scf.forall
// BALANCED-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT:  gpux.copy
// PLAIN-NEXT:  gpux.commit_group <cp_async>
// CHECK-NEXT:  }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT:  gpux.wait_group <cp_async>, 0
func.func @forall(%src: !global, %dst: !shared, %i: index, %n: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  scf.forall (%k) in (%n) {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  }
  async.await %a
  return
}

// Lanes other than 0 pass by. The commit after the region is for all of them.
// CHECK-LABEL: func @lane_0
// CHECK:       gpu.warp_execute_on_lane_0
// CHECK:       }
// BALANCED-NEXT: gpux.commit_group <cp_async>
// BALANCED-NEXT: gpux.wait_group <cp_async>, 1
// PLAIN-NEXT:  gpux.wait_group <cp_async>, 0
func.func @lane_0(%src: !global, %dst: !shared, %i: index, %lane: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  gpu.warp_execute_on_lane_0(%lane)[32] {
    %b = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
    gpu.yield
  }
  async.await %a
  return
}

// A function inside of a function is another program, and left as it is.
// CHECK-LABEL: func @outer
// CHECK:       func.func @inner
// CHECK:       gpux.copy async
// CHECK:       async.await
func.func @outer(%src: !global, %dst: !shared, %i: index) {
  %a = gpux.copy async %src[%i], %dst[%i], 4 : !global to !shared
  builtin.module {
    func.func @inner(%s: !global, %d: !shared, %j: index) {
      %b = gpux.copy async %s[%j], %d[%j], 4 : !global to !shared
      async.await %b
      return
    }
  }
  async.await %a
  return
}
