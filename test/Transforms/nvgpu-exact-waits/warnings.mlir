// RUN: async-opt %s --nvgpu-exact-waits --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @never_committed
func.func @never_committed(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  // expected-warning @below {{on some path to the end of the function, no group commits this copy, and nothing can wait for it}}
  // expected-note @below {{the copy; a `nvgpu.device_async_create_group` after it commits it}}
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{a copy awaited here may not be committed to a group yet, and no count waits for it}}
  nvgpu.device_async_wait %0
  return
}

// -----

func.func @committed_on_one_path(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %cond: i1) {
  // expected-warning @below {{on some path to the end of the function, no group commits this copy}}
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  scf.if %cond {
    %1 = nvgpu.device_async_create_group %0
  }
  return
}

// -----

// Committed in the next iteration, but not after the last one.
func.func @last_iteration_is_not_committed(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %0 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
    // expected-warning @below {{on some path to the end of the function, no group commits this copy}}
    %1 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  }
  return
}

// -----

// Committed too late for the wait, but in time for the end.
func.func @committed_after_the_wait(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  // expected-note @below {{the copy}}
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  // expected-warning @below {{a copy awaited here may not be committed to a group yet}}
  nvgpu.device_async_wait %0 {numGroups = 1 : i32}
  %1 = nvgpu.device_async_create_group %0
  return
}

// -----

// An mbarrier tracks copies without a group.
// CHECK-LABEL: @tracked_by_an_mbarrier
func.func @tracked_by_an_mbarrier(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %m: !llvm.ptr<3>) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  nvvm.cp.async.mbarrier.arrive %m : !llvm.ptr<3>
  return
}

// -----

// CHECK-LABEL: @token_from_elsewhere
func.func @token_from_elsewhere(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %t: !nvgpu.device.async.token) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  // expected-remark @below {{the token may come from elsewhere, so its group is not known here; its count stays}}
  nvgpu.device_async_wait %t {numGroups = 1 : i32}
  // Implied by the wait before.
  nvgpu.device_async_wait %1
  // CHECK-NEXT: nvgpu.device_async_wait %{{[^{]*$}}
  // expected-remark @below {{it keeps waiting for all groups}}
  nvgpu.device_async_wait %t
  nvgpu.device_async_wait %3
  // CHECK-NEXT: return
  return
}

// -----

// What is known of the token is covered.
// CHECK-LABEL: @token_partly_from_elsewhere
func.func @token_partly_from_elsewhere(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %cond: i1,
                                       %t: !nvgpu.device.async.token) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %u = arith.select %cond, %t, %1 : !nvgpu.device.async.token
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 3` waits for too little: a copy awaited here may still be in flight; the exact count is 0}}
  nvgpu.device_async_wait %u {numGroups = 3 : i32}
  return
}

// -----

// A call takes a token along and brings another one; neither changes what is counted here.
func.func private @callee(!nvgpu.device.async.token) -> !nvgpu.device.async.token
// CHECK-LABEL: @tokens_of_calls
func.func @tokens_of_calls(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  %3 = func.call @callee(%1) : (!nvgpu.device.async.token) -> !nvgpu.device.async.token
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1
  // CHECK-NEXT: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
  // expected-remark @below {{the token may come from elsewhere}}
  nvgpu.device_async_wait %3 {numGroups = 2 : i32}
  return
}

// -----

// The hardware takes a count above 63 for 63.
// CHECK-LABEL: @count_of_100
func.func @count_of_100(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c80 = arith.constant 80 : index
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  scf.for %j = %c0 to %c80 step %c1 {
    %2 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  }
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 63 : i32}
  // expected-remark @below {{more than 63 groups may stay in flight here; the hardware counts no further than 63}}
  nvgpu.device_async_wait %1 {numGroups = 100 : i32}
  return
}

// -----

func.func @negative_count(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-error @below {{'nvgpu.device_async_wait' op has numGroups = -1, which is not a number of groups}}
  nvgpu.device_async_wait %1 {numGroups = -1 : i32}
  return
}
