// RUN: async-opt %s --nvgpu-exact-waits --split-input-file | FileCheck %s

// The copy is in the part of the loop that decides: one group is committed after it, in the iteration that ends.
// CHECK-LABEL: @while
func.func @while(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %cond: i1) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %last = scf.while (%t = %1) : (!nvgpu.device.async.token) -> !nvgpu.device.async.token {
    %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %3 = nvgpu.device_async_create_group %2
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %t
    scf.condition(%cond) %3 : !nvgpu.device.async.token
  } do {
  ^bb0(%u: !nvgpu.device.async.token):
    scf.yield %u : !nvgpu.device.async.token
  }
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %last
  return
}

// -----

// CHECK-LABEL: @result_of_if
func.func @result_of_if(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %cond: i1) {
  %t = scf.if %cond -> !nvgpu.device.async.token {
    %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %1 = nvgpu.device_async_create_group %0
    %2 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
    scf.yield %1 : !nvgpu.device.async.token
  } else {
    %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %1 = nvgpu.device_async_create_group %0
    %2 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
    %3 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
    scf.yield %1 : !nvgpu.device.async.token
  }
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %t
  return
}

// -----

// Tokens of a loop that may not run.
// CHECK-LABEL: @result_of_for
func.func @result_of_for(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  %last:2 = scf.for %j = %c0 to %n step %c1 iter_args(%t = %1, %u = %3)
      -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
    // CHECK: scf.for
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %t
    %4 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %5 = nvgpu.device_async_create_group %4
    scf.yield %u, %5 : !nvgpu.device.async.token, !nvgpu.device.async.token
  }
  // CHECK: }
  // CHECK: nvgpu.device_async_wait %{{.*}}#0 {numGroups = 1 : i32}
  nvgpu.device_async_wait %last#0
  // CHECK: nvgpu.device_async_wait %{{.*}}#1 {numGroups = 0 : i32}
  nvgpu.device_async_wait %last#1
  return
}

// -----

// A loop that runs a constant number of times commits that many groups.
// CHECK-LABEL: @constant_trip_count
func.func @constant_trip_count(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  scf.for %j = %c0 to %c5 step %c1 {
    %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %3 = nvgpu.device_async_create_group %2
  }
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 5 : i32}
  nvgpu.device_async_wait %1 {numGroups = 5 : i32}
  return
}

// -----

// CHECK-LABEL: @swapped_tokens
func.func @swapped_tokens(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  %last:2 = scf.for %j = %c0 to %n step %c1 iter_args(%t = %1, %u = %3)
      -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
    scf.yield %u, %t : !nvgpu.device.async.token, !nvgpu.device.async.token
  }
  // CHECK: nvgpu.device_async_wait %{{.*}}#0 {numGroups = 0 : i32}
  // CHECK-NOT: nvgpu.device_async_wait
  nvgpu.device_async_wait %last#0
  nvgpu.device_async_wait %last#1
  return
}

// -----

// A token that a loop carries around unchanged is complete after the first iteration.
// CHECK-LABEL: @invariant_token
func.func @invariant_token(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %last = scf.for %j = %c0 to %n step %c1 iter_args(%t = %1) -> (!nvgpu.device.async.token) {
    %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %3 = nvgpu.device_async_create_group %2
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %t
    scf.yield %t : !nvgpu.device.async.token
  }
  // The loop may not have run.
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %last
  return
}

// -----

// CHECK-LABEL: @blocks_and_selections
func.func @blocks_and_selections(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %cond: i1) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  %none = ub.poison : !nvgpu.device.async.token
  cf.cond_br %cond, ^bb1(%1 : !nvgpu.device.async.token), ^bb1(%none : !nvgpu.device.async.token)
^bb1(%t: !nvgpu.device.async.token):
  %3 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  %u = arith.select %cond, %t, %3 : !nvgpu.device.async.token
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
  nvgpu.device_async_wait %t
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %u
  return
}

// -----

// CHECK-LABEL: @wait_in_one_branch
func.func @wait_in_one_branch(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index, %cond: i1) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  scf.if %cond {
    // CHECK: scf.if
    // CHECK-NEXT: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
    nvgpu.device_async_wait %1
  }
  // CHECK-NEXT: }
  // CHECK-NEXT: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %1
  return
}
