// How many empty groups an arm of a branch may get to have as many groups as another one: `max-padding`, 4 by default.
//
// RUN: async-opt %s --gpux-tokens-to-groups=form-groups=false | FileCheck %s --check-prefixes=CHECK,BY4
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false max-padding=1' | FileCheck %s --check-prefixes=CHECK,BY1
// RUN: async-opt %s --gpux-tokens-to-groups='form-groups=false max-padding=0' | FileCheck %s --check-prefixes=CHECK,BY0

// RUN: not async-opt %s --gpux-tokens-to-groups='max-padding=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: max-padding is -1, but must be at least 0 (never pad)

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!t = !async.token

// The copies of the arm are awaited apart, so two of its commits have to be in it. The third one serves both ways. With as
// many empty groups on the other way the await of %t waits for no other copy; with one, for the first copy of the arm as
// well, whose own await then has nothing to do; with none, for the first two.
// CHECK-LABEL: func.func @two_groups_apart
// CHECK: scf.if
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: } else {
// BY4-NEXT: gpux.commit_group <cp_async>
// BY4-NEXT: gpux.commit_group <cp_async>
// BY1-NEXT: gpux.commit_group <cp_async>
// CHECK-NEXT: }
// CHECK-NEXT: gpux.commit_group <cp_async>
// BY4-NEXT: gpux.wait_group <cp_async>, 3
// BY4-NEXT: gpux.wait_group <cp_async>, 2
// BY4-NEXT: gpux.wait_group <cp_async>, 1
// BY1-NEXT: gpux.wait_group <cp_async>, 2
// BY1-NEXT: gpux.wait_group <cp_async>, 1
// BY0-NEXT: gpux.wait_group <cp_async>, 1
// CHECK-NEXT: gpux.wait_group <cp_async>, 0
// CHECK-NEXT: return
func.func @two_groups_apart(%src: !src, %dst: !dst, %i: index, %c: i1) {
  %none = async.ready
  %t = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
  %u:3 = scf.if %c -> (!t, !t, !t) {
    %x = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %y = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    %z = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %x, %y, %z : !t, !t, !t
  } else {
    scf.yield %none, %none, %none : !t, !t, !t
  }
  async.await %t
  async.await %u#0
  async.await %u#1
  async.await %u#2
  return
}
