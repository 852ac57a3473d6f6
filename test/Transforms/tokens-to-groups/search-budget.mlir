// A search that runs out of its budget says so, unless it is known that no wait could complete less: here every count leaves exactly
// the younger groups in flight once an empty group makes up for each copy that is not made.
//
// RUN: async-opt %s --gpux-tokens-to-groups --verify-diagnostics | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups=balance=false -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNEVEN

!src = memref<64xf32>
!dst = memref<64xf32, 3>

// CHECK-LABEL: func.func @conditional_copies_in_a_rolling_window
// CHECK-COUNT-8: gpux.wait_group <cp_async>, 4
// CHECK: gpux.wait_group <cp_async>, 3
// CHECK: gpux.wait_group <cp_async>, 2
// CHECK: gpux.wait_group <cp_async>, 1
// CHECK: gpux.wait_group <cp_async>, 0
// CHECK-NOT: gpux.wait_group
//
// UNEVEN: remark: the search for places to commit ran out of its budget: every wait is exact for the commits that were made, but commits elsewhere might let some wait complete less
func.func @conditional_copies_in_a_rolling_window(%src: !src, %dst: !dst, %i: index, %p: i1) {
  %t0 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  %t1 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  %t2 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  %t3 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  %t4 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t0
  %t5 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t1
  %t6 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t2
  %t7 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t3
  %t8 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t4
  %t9 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t5
  %t10 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t6
  %t11 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t7
  %t12 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t8
  %t13 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t9
  %t14 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t10
  %t15 = scf.if %p -> !async.token {
    %c = gpux.copy async %src[%i], %dst[%i], 4 : !src to !dst
    scf.yield %c : !async.token
  } else {
    %r = async.ready
    scf.yield %r : !async.token
  }
  async.await %t11
  return
}
