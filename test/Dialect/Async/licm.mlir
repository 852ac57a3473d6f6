// RUN: async-opt %s --loop-invariant-code-motion --split-input-file | FileCheck %s

// Out of the loop with the task, what uses its value would come before the
// await, which stays.

// CHECK-LABEL: func.func @task_with_values_stays
func.func @task_with_values_stays(%n: index, %x: f32, %m: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-NEXT: async.region
  // CHECK: async.await
  // CHECK-NEXT: arith.mulf
  scf.for %i = %c0 to %n step %c1 {
    %t, %v = async.region -> (f32) {
      %y = arith.addf %x, %x : f32
      async.yield %y : f32
    }
    async.await %t
    %z = arith.mulf %v, %x : f32
    memref.store %z, %m[%i] : memref<?xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @region_with_effects_stays
func.func @region_with_effects_stays(%n: index, %x: f32, %m: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-NEXT: async.region
  scf.for %i = %c0 to %n step %c1 {
    %t = async.region {
      memref.store %x, %m[%c0] : memref<?xf32>
      async.yield
    }
    async.await %t
  }
  return
}
