// Programs in our dialect `async` as programs in upstream's, and back.
//
// RUN: async-translate --export-upstream-async %s -o %t.theirs.mlir
// RUN: FileCheck %s --input-file=%t.theirs.mlir
// RUN: mlir-opt %t.theirs.mlir -o /dev/null
// RUN: async-opt %s -o %t.ours.mlir
// RUN: async-translate --import-upstream-async %t.theirs.mlir -o %t.back.mlir
// RUN: diff %t.ours.mlir %t.back.mlir

// What is awaited is awaited as a value, too, and a task takes what it depends on as an operand.
// CHECK-LABEL: func.func @values
// CHECK: %[[T:.+]], %[[F:.+]]:2 = async.execute -> (!async.value<f32>, !async.value<index>) {
// CHECK: async.yield %{{.+}}, %{{.+}} : f32, index
// CHECK: %[[T1:.+]], %[[F1:.+]] = async.execute [%[[T]]] (%[[F]]#0 as %[[X:.+]]: !async.value<f32>) -> !async.value<f32> {
// CHECK-NEXT: arith.addf %[[X]], %[[X]]
// CHECK: async.await %[[T1]] : !async.token
// CHECK-NEXT: %[[V:.+]] = async.await %[[F1]] : !async.value<f32>
// CHECK-NEXT: %[[I:.+]] = async.await %[[F]]#1 : !async.value<index>
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.store %[[V]], %{{.+}}[%[[I]]]
func.func @values(%m: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %cst = arith.constant 1.0 : f32
  %t, %v:2 = async.region -> (f32, index) {
    async.yield %cst, %c1 : f32, index
  }
  %t1, %v1 = async.region [%t] -> (f32) {
    %s = arith.addf %v#0, %v#0 : f32
    async.yield %s : f32
  }
  async.await %t1
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v1, %m[%v#1] : memref<8xf32>
  }
  return
}

// A join is a task that does nothing.
// CHECK-LABEL: func.func @joins
// CHECK: %[[R:.+]] = async.execute {
// CHECK-NEXT: async.yield
// CHECK: %[[J:.+]] = async.execute [%{{.+}}, %[[R]]] {
// CHECK-NEXT: async.yield
// CHECK: async.await %[[J]] : !async.token
// CHECK-NEXT: async.await %{{.+}} : !async.token
// CHECK: return %[[R]]
func.func @joins(%a: !async.token, %b: !async.token) -> !async.token {
  %r = async.ready
  %j = async.join %a, %r
  async.await %j, %b
  return %r : !async.token
}

// What is yielded after the values is awaited last.
// CHECK-LABEL: func.func @nested
// CHECK: async.execute -> !async.value<memref<4xf32>> {
// CHECK: %[[U:.+]] = async.execute {
// CHECK: async.await %[[U]] : !async.token
// CHECK-NEXT: async.yield %{{.+}} : memref<4xf32>
func.func @nested(%m: memref<4xf32>, %i: index) -> !async.token {
  %cst = arith.constant 1.0 : f32
  %t, %v = async.region -> (memref<4xf32>) {
    %u = async.region {
      memref.store %cst, %m[%i] : memref<4xf32>
      async.yield
    }
    async.yield %m, %u : memref<4xf32>, !async.token
  }
  return %t : !async.token
}

// The body of a function that is one region is the function's.
// CHECK-LABEL: async.func @task(
// CHECK-SAME: -> (!async.token, !async.value<f32>) {
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: return
async.func @task(%x: f32) -> (f32, !async.token) {
  %t, %v = async.region -> (f32) {
    %y = arith.mulf %x, %x : f32
    async.yield %y : f32
  }
  async.yield %v, %t : f32, !async.token
}

// CHECK-LABEL: func.func @calls
// CHECK: %[[R:.+]]:2 = async.call @task(
// CHECK: async.execute [%[[R]]#0] (%[[R]]#1 as %{{.+}}: !async.value<f32>)
func.func @calls(%x: f32, %m: memref<f32>) {
  %v, %t = async.call @task(%x) : (f32) -> (f32, !async.token)
  %u = async.region [%t] {
    memref.store %v, %m[] : memref<f32>
    async.yield
  }
  async.await %u
  return
}

// Tokens go through loops as they are.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}) -> (!async.token)
func.func @loop(%n: index, %m: memref<8xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready) -> (!async.token) {
    %u = async.region [%t] {
      memref.store %i, %m[%i] : memref<8xindex>
      async.yield
    }
    scf.yield %u : !async.token
  }
  async.await %last
  return
}
