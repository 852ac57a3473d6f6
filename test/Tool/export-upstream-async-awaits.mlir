// What is used before its token is known to be complete is awaited first.
//
// RUN: async-translate --export-upstream-async %s | FileCheck %s

// CHECK-LABEL: func.func @returned
// CHECK: %[[T:.+]], %[[F:.+]] = async.execute
// CHECK: %[[V:.+]] = async.await %[[F]] : !async.value<f32>
// CHECK-NEXT: return %[[V]], %[[T]]
func.func @returned(%x: f32) -> (f32, !async.token) {
  %t, %v = async.region -> (f32) {
    async.yield %x : f32
  }
  return %v, %t : f32, !async.token
}

// In a task that does not depend on it, too.
// CHECK-LABEL: func.func @captured
// CHECK: %[[T:.+]], %[[F:.+]] = async.execute
// CHECK: async.execute {
// CHECK: async.await %[[T]] : !async.token
// CHECK-NEXT: %[[V:.+]] = async.await %[[F]] : !async.value<f32>
// CHECK-NEXT: memref.store %[[V]]
func.func @captured(%x: f32, %m: memref<f32>) -> !async.token {
  %t, %v = async.region -> (f32) {
    async.yield %x : f32
  }
  %u = async.region {
    async.await %t
    memref.store %v, %m[] : memref<f32>
    async.yield
  }
  return %u : !async.token
}

// A function that returns what several regions make: its tokens are awaited at its end, and so are its results.
// CHECK-LABEL: async.func @several
// CHECK-SAME: -> (!async.token, !async.value<f32>, !async.value<f32>) {
// CHECK: %{{.+}}, %[[FA:.+]] = execute
// CHECK: %{{.+}}, %[[FB:.+]] = execute
// CHECK: await %{{.+}} : !async.token
// CHECK-NEXT: %[[A:.+]] = await %[[FA]]
// CHECK-NEXT: %[[B:.+]] = await %[[FB]]
// CHECK-NEXT: return %[[A]], %[[B]] : f32, f32
async.func @several(%x: f32) -> (f32, f32, !async.token) {
  %t, %v = async.region -> (f32) {
    async.yield %x : f32
  }
  %u, %w = async.region -> (f32) {
    async.yield %x : f32
  }
  %j = async.join %t, %u
  async.yield %v, %w, %j : f32, f32, !async.token
}

// CHECK-LABEL: async.func @plain
// CHECK-SAME: -> (!async.token, !async.value<f32>)
// CHECK-LABEL: func.func @call_plain
// CHECK: %[[R:.+]]:2 = async.call @plain
// CHECK-NEXT: %[[V:.+]] = async.await %[[R]]#1
// CHECK-NEXT: return %[[V]]
async.func @plain(%x: f32) -> f32 {
  async.yield %x : f32
}
func.func @call_plain(%x: f32) -> f32 {
  %v = async.call @plain(%x) : (f32) -> f32
  return %v : f32
}
