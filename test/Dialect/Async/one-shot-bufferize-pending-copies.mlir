// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops" --split-input-file | FileCheck %s

// Where bufferization needs a copy of what a task yields before its token is
// awaited, it awaits the token first.

// CHECK-LABEL: func.func @loop_begins_with_pending_tensor
func.func @loop_begins_with_pending_tensor(%a: tensor<8xf32>, %x: f32, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: %[[C:[a-z_0-9]+]] = memref.alloc
  // CHECK-NEXT: memref.copy %[[P]], %[[C]]
  // CHECK-NEXT: scf.for
  %t, %p = async.region -> (tensor<8xf32>) {
    %f = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%b = %p) -> tensor<8xf32> {
    async.await %t
    %d = tensor.insert %x into %b[%k] : tensor<8xf32>
    scf.yield %d : tensor<8xf32>
  }
  async.await %t
  return %r, %p : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func private @insert_later(%a: tensor<8xf32>, %t: !async.token, %x: f32, %i: index) -> tensor<8xf32> {
  async.await %t
  %d = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %d : tensor<8xf32>
}

// CHECK-LABEL: func.func @call_gets_pending_tensor
func.func @call_gets_pending_tensor(%a: tensor<8xf32>, %x: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: memref.alloc
  // CHECK-NEXT: memref.copy %[[P]]
  // CHECK-NEXT: call @insert_later
  %t, %p = async.region -> (tensor<8xf32>) {
    %f = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  %r = func.call @insert_later(%p, %t, %x, %i) : (tensor<8xf32>, !async.token, f32, index) -> tensor<8xf32>
  async.await %t
  return %r, %p : tensor<8xf32>, tensor<8xf32>
}

// -----

// A callee that accesses the elements wherever it uses the tensor does so when
// it is complete: copies of its own are there, and the call waits for nothing.
async.func private @read_later(%a: tensor<8xf32>, %t: !async.token, %s: memref<8xf32>, %i: index) -> !async.token {
  %u = async.region [%t] {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    memref.store %y, %s[%i] : memref<8xf32>
  }
  async.yield %u : !async.token
}

// CHECK-LABEL: func.func @call_passes_pending_tensor
func.func @call_passes_pending_tensor(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %i: index) {
  // CHECK: async.region
  // CHECK-NOT: async.await
  // CHECK: %[[U:[a-z_0-9]+]] = async.call @read_later
  // CHECK-NEXT: async.await %[[U]]
  %t, %p = async.region -> (tensor<8xf32>) {
    %f = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  %u = async.call @read_later(%p, %t, %s, %i) : (tensor<8xf32>, !async.token, memref<8xf32>, index) -> !async.token
  async.await %u
  return
}

// -----

// A loop may begin with a copy of the argument, whose token the callee doesn't
// know.
async.func private @loop(%a: tensor<8xf32>, %x: f32, %n: index) -> (tensor<8xf32>, !async.token) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%b = %a) -> tensor<8xf32> {
    %d = tensor.insert %x into %b[%k] : tensor<8xf32>
    scf.yield %d : tensor<8xf32>
  }
  async.yield %r, %ready : tensor<8xf32>, !async.token
}

// CHECK-LABEL: func.func @callee_copies_pending_tensor
func.func @callee_copies_pending_tensor(%a: tensor<8xf32>, %x: f32, %n: index) -> (tensor<8xf32>) {
  // CHECK: %[[T:[a-z_0-9]+]], %{{[a-z_0-9]+}} = async.region
  // CHECK: async.await %[[T]]
  // CHECK: async.call @loop
  %t, %p = async.region -> (tensor<8xf32>) {
    %f = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  %r, %u = async.call @loop(%p, %x, %n) : (tensor<8xf32>, f32, index) -> (tensor<8xf32>, !async.token)
  async.await %t, %u
  return %r : tensor<8xf32>
}

// -----

// A view of it may be such a copy, too.
func.func private @first_half(%a: tensor<8xf32>, %t: !async.token, %x: f32, %i: index) -> tensor<4xf32> {
  %s = tensor.extract_slice %a[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  async.await %t
  %d = tensor.insert %x into %s[%i] : tensor<4xf32>
  return %d : tensor<4xf32>
}

// CHECK-LABEL: func.func @callee_views_pending_tensor
func.func @callee_views_pending_tensor(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<4xf32> {
  // CHECK: %[[T:[a-z_0-9]+]], %{{[a-z_0-9]+}} = async.region
  // CHECK: async.await %[[T]]
  // CHECK: call @first_half
  %t, %p = async.region -> (tensor<8xf32>) {
    %f = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  %r = func.call @first_half(%p, %t, %x, %i) : (tensor<8xf32>, !async.token, f32, index) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What a func.func returns may be copied by its caller, which has no token that
// is known to belong to it.
// CHECK-LABEL: func.func @returns_pending_tensor
func.func @returns_pending_tensor(%x: f32) -> (tensor<8xf32>, !async.token) {
  // CHECK: %[[T:[a-z_0-9]+]], %{{[a-z_0-9]+}} = async.region
  // CHECK: async.await %[[T]]
  // CHECK: return
  %t, %p = async.region -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  return %p, %t : tensor<8xf32>, !async.token
}

// An async.func returns the token, too.
// CHECK-LABEL: async.func @yields_pending_tensor
async.func @yields_pending_tensor(%x: f32) -> (tensor<8xf32>, !async.token) {
  // CHECK: async.region
  // CHECK-NOT: async.await
  // CHECK: async.yield
  // CHECK: async.yield
  %t, %p = async.region -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  async.yield %p, %t : tensor<8xf32>, !async.token
}

// -----

// The task that the call starts may be running when the function returns, and
// its callers may write to the argument. No copy can be made before the call: the
// argument is not complete there.
async.func private @read_first(%a: tensor<8xf32>, %b: tensor<8xf32>, %s: memref<8xf32>, %i: index) -> !async.token {
  %u = async.region {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    memref.store %y, %s[%i] : memref<8xf32>
  }
  async.yield %u : !async.token
}

// CHECK-LABEL: func.func @call_with_pending_argument_is_running_at_return
func.func @call_with_pending_argument_is_running_at_return(%a: tensor<8xf32>, %b: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %i: index) -> !async.token {
  // CHECK: async.region
  // CHECK-NOT: memref.copy
  // CHECK: %[[U:[a-z_0-9]+]] = async.call @read_first
  // CHECK: async.await %[[U]]
  // CHECK: return
  %t, %p = async.region -> (tensor<8xf32>) {
    %c = tensor.insert %x into %b[%i] : tensor<8xf32>
    async.yield %c : tensor<8xf32>
  }
  %u = async.call @read_first(%a, %p, %s, %i) : (tensor<8xf32>, tensor<8xf32>, memref<8xf32>, index) -> !async.token
  async.await %t
  return %u : !async.token
}

// -----

// The token that a loop carries along is the one that is awaited.
// CHECK-LABEL: func.func @loop_swaps_buffers
func.func @loop_swaps_buffers(%a: tensor<8xf32>, %b: tensor<8xf32>, %x: f32, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  // CHECK: scf.for {{.*}} iter_args(%{{[a-z_0-9]+}} = {{.*}}, %[[B:[a-z_0-9]+]] = {{.*}}, %[[U:[a-z_0-9]+]] = %{{[a-z_0-9]+}})
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region [%[[U]]]
  // CHECK: async.await
  // CHECK: memref.copy %[[B]]
  // CHECK: memref.copy %[[P]]
  // CHECK: scf.yield
  %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %a, %d = %b, %u = %ready) -> (tensor<8xf32>, tensor<8xf32>, !async.token) {
    %t, %p = async.region [%u] -> (tensor<8xf32>) {
      %q = tensor.insert %x into %c[%k] : tensor<8xf32>
      async.yield %q : tensor<8xf32>
    }
    scf.yield %d, %p, %t : tensor<8xf32>, tensor<8xf32>, !async.token
  }
  async.await %r#2
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @condition_of_while
func.func @condition_of_while(%a: tensor<8xf32>, %x: f32, %i: index, %c: i1) -> tensor<8xf32> {
  %ready = async.ready
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region
  // CHECK: async.await %[[T]]
  // CHECK: memref.copy %[[P]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: scf.condition(%{{.*}}) %[[C]], %[[T]]
  %r:2 = scf.while (%b = %a, %u = %ready) : (tensor<8xf32>, !async.token) -> (tensor<8xf32>, !async.token) {
    %t, %p = async.region [%u] -> (tensor<8xf32>) {
      %e = tensor.empty() : tensor<8xf32>
      %f = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      async.yield %f : tensor<8xf32>
    }
    scf.condition(%c) %p, %t : tensor<8xf32>, !async.token
  } do {
  ^bb0(%b: tensor<8xf32>, %u: !async.token):
    async.await %u
    %d = tensor.insert %x into %b[%i] : tensor<8xf32>
    scf.yield %d, %u : tensor<8xf32>, !async.token
  }
  async.await %r#1
  return %r#0 : tensor<8xf32>
}

// -----

// Without a copy there is nothing to wait for.
// CHECK-LABEL: func.func @no_copy
func.func @no_copy(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  // CHECK: async.region
  // CHECK-NOT: memref.copy
  // CHECK: async.await
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: return
  %t, %p = async.region -> (tensor<8xf32>) {
    %f = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %f : tensor<8xf32>
  }
  async.await %t
  %d = tensor.insert %x into %p[%i] : tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

// In the next iteration no token tells when the tensor is complete: each
// iteration awaits its own.
// CHECK-LABEL: func.func @no_token
func.func @no_token(%a: tensor<8xf32>, %b: tensor<8xf32>, %x: f32, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region
  // CHECK: async.await %[[T]]
  // CHECK: memref.copy %[[P]]
  // CHECK: scf.yield
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %a, %d = %b) -> (tensor<8xf32>, tensor<8xf32>) {
    %t, %p = async.region -> (tensor<8xf32>) {
      %q = tensor.insert %x into %c[%k] : tensor<8xf32>
      async.yield %q : tensor<8xf32>
    }
    scf.yield %d, %p : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}
