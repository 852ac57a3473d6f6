// Awaits in regions become dependencies between regions.

// RUN: async-opt %s --async-split-awaits --split-input-file --verify-diagnostics | FileCheck %s

// At the start: a dependency.
// CHECK-LABEL: func.func @start
// CHECK-SAME: (%[[T:[a-z0-9]+]]: !async.token, %[[U:[a-z0-9]+]]: !async.token,
// CHECK: async.region [%[[U]], %[[T]]] {
// CHECK-NEXT: memref.load
// CHECK-NOT: async.await
func.func @start(%t: !async.token, %u: !async.token, %m: memref<i32>) -> !async.token {
  %r = async.region [%u] {
    async.await %t
    %x = memref.load %m[] : memref<i32>
    memref.store %x, %m[] : memref<i32>
    async.yield
  }
  return %r : !async.token
}

// -----

// At the end: the token delays the region.
// CHECK-LABEL: func.func @end
// CHECK-SAME: (%[[T:[a-z0-9]+]]: !async.token,
// CHECK: async.yield %[[T]] : !async.token
func.func @end(%t: !async.token, %m: memref<i32>, %x: i32) -> !async.token {
  %r = async.region {
    memref.store %x, %m[] : memref<i32>
    async.await %t
    async.yield
  }
  return %r : !async.token
}

// -----

// Between: what follows is a region, which delays the one that it was in. Two awaits after another are one.
// CHECK-LABEL: func.func @middle
// CHECK-SAME: (%[[T:[a-z0-9]+]]: !async.token, %[[U:[a-z0-9]+]]: !async.token,
// CHECK: async.region -> (i32) {
// CHECK-NEXT: memref.store
// CHECK-NEXT: %[[REST:[a-z0-9_]+]], %[[V:[a-z0-9_]+]] = async.region [%[[U]], %[[T]]] -> (i32) {
// CHECK-NEXT: %[[X:[a-z0-9]+]] = memref.load
// CHECK-NEXT: async.yield %[[X]] : i32
// CHECK-NEXT: }
// CHECK-NEXT: async.yield %[[V]], %[[REST]] : i32, !async.token
func.func @middle(%t: !async.token, %u: !async.token, %m: memref<i32>, %x: i32) -> (!async.token, i32) {
  %r, %v = async.region -> (i32) {
    memref.store %x, %m[] : memref<i32>
    async.await %t
    async.await %u
    %y = memref.load %m[] : memref<i32>
    async.yield %y : i32
  }
  return %r, %v : !async.token, i32
}

// -----

// In an arm of a branch: the arm's rest becomes a region, and the rest of the body depends on whichever arm ran.
// CHECK-LABEL: func.func @arm
// CHECK-SAME: (%[[T:[a-z0-9]+]]: !async.token, %[[U:[a-z0-9]+]]: !async.token,
// CHECK: %[[IF:[a-z0-9]+]] = scf.if %{{.+}} -> (!async.token) {
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = async.region [%[[T]]] {
// CHECK-NEXT: memref.store
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = async.region [%[[U]]] {
// CHECK: async.yield %[[B]] : !async.token
// CHECK: scf.yield %[[A]] : !async.token
// CHECK: } else {
// CHECK-NEXT: %[[READY:[a-z0-9_]+]] = async.ready
// CHECK-NEXT: scf.yield %[[READY]] : !async.token
// CHECK: async.region [%[[IF]]] {
// CHECK-NEXT: memref.store
func.func @arm(%t: !async.token, %u: !async.token, %c: i1, %m: memref<i32>, %x: i32) -> !async.token {
  %r = async.region {
    scf.if %c {
      async.await %t
      memref.store %x, %m[] : memref<i32>
      async.await %u
      memref.store %x, %m[] : memref<i32>
    }
    memref.store %x, %m[] : memref<i32>
    async.yield
  }
  return %r : !async.token
}

// -----

// Under a loop, and in what a region calls, a task is suspended.
// CHECK-LABEL: func.func @suspended
// CHECK: scf.for
// CHECK-NEXT: async.await
func.func private @waits(%t: !async.token) {
  async.await %t
  return
}
func.func private @calls(%t: !async.token) {
  call @waits(%t) : (!async.token) -> ()
  return
}
func.func @suspended(%t: !async.token, %n: index) -> !async.token {
  %r = async.region {
    scf.for %i = %n to %n step %n {
      // expected-remark @+1 {{suspends the task}}
      async.await %t
    }
    // expected-remark @+1 {{suspends the task: what it calls awaits something}}
    func.call @calls(%t) : (!async.token) -> ()
    async.yield
  }
  return %r : !async.token
}

// -----

// Memory on the stack of the body is gone when the body ends, so the body goes on.
// CHECK-LABEL: func.func @stack
// CHECK: memref.alloca
// CHECK: async.await
func.func @stack(%t: !async.token, %x: i32) -> !async.token {
  %r = async.region {
    %m = memref.alloca() : memref<i32>
    memref.store %x, %m[] : memref<i32>
    // expected-remark @+1 {{memory on its stack}}
    async.await %t
    memref.store %x, %m[] : memref<i32>
    async.yield
  }
  return %r : !async.token
}

// -----

// An arm that yields a token which it makes after an await stays as it is: regions return no tokens.
// CHECK-LABEL: func.func @late_token
// CHECK: scf.if
// CHECK-NEXT: async.await
func.func @late_token(%t: !async.token, %c: i1) -> !async.token {
  %r = async.region {
    %u = scf.if %c -> !async.token {
      // expected-remark @+1 {{suspends the task}}
      async.await %t
      %v = async.region {
        async.yield
      }
      scf.yield %v : !async.token
    } else {
      scf.yield %t : !async.token
    }
    async.yield %u : !async.token
  }
  return %r : !async.token
}
