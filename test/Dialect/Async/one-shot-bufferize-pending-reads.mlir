// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --canonicalize --split-input-file | FileCheck %s

// A tensor that a region reads stays live until the token of the region is
// awaited or depended on: a write that may happen before goes to a copy.

// CHECK-LABEL: func.func @write_before_await_copies
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[X:[a-z_0-9]+]]: f32, %[[I:[a-z_0-9]+]]: index)
func.func @write_before_await_copies(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = async.region -> (f32) {
  // CHECK-NEXT: memref.load %[[A]][%[[I]]]
  // CHECK: %[[C:[a-z_0-9]+]] = memref.alloc
  // CHECK-NEXT: memref.copy %[[A]], %[[C]]
  // CHECK-NEXT: memref.store %[[X]], %[[C]][%[[I]]]
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: return %[[V]], %[[C]]
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  async.await %t
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @write_after_await_is_in_place
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[X:[a-z_0-9]+]]: f32, %[[I:[a-z_0-9]+]]: index)
func.func @write_after_await_is_in_place(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = async.region -> (f32) {
  // CHECK-NEXT: memref.load %[[A]][%[[I]]]
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: memref.store %[[X]], %[[A]][%[[I]]]
  // CHECK-NEXT: return %[[V]], %[[A]]
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  async.await %t
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @await_of_join_counts
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @await_of_join_counts(%a: tensor<8xf32>, %x: f32, %i: index, %u: !async.token) -> (f32, tensor<8xf32>) {
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  %j = async.join %u, %t
  // CHECK: async.await
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  async.await %j
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @await_of_another_token_does_not_count
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @await_of_another_token_does_not_count(%a: tensor<8xf32>, %x: f32, %i: index, %u: !async.token) -> (f32, tensor<8xf32>) {
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  // CHECK: async.await
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK: memref.store %{{.*}}, %[[C]]
  async.await %u
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  async.await %t
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @write_in_dependent_region_is_in_place
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_in_dependent_region_is_in_place(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // CHECK-NOT: memref.copy
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  // CHECK: async.region [%{{.*}}] {
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  %u, %b = async.region [%t] -> (tensor<8xf32>) {
    %b = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %b : tensor<8xf32>
  }
  // CHECK: async.await
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  async.await %u
  %c = tensor.insert %x into %b[%i] : tensor<8xf32>
  return %v, %c : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @write_in_independent_region_copies
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_in_independent_region_copies(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // CHECK: async.region
  // CHECK-NEXT: memref.load %[[A]]
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  // CHECK: async.region
  // CHECK-NEXT: %[[C:[a-z_0-9]+]] = memref.alloc
  // CHECK-NEXT: memref.copy %[[A]], %[[C]]
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  %u, %b = async.region -> (tensor<8xf32>) {
    %b = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %b : tensor<8xf32>
  }
  async.await %t, %u
  return %v, %b : f32, tensor<8xf32>
}

// -----

// The region reads a slice, the write goes to the whole.
// CHECK-LABEL: func.func @slices_share_a_buffer
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @slices_share_a_buffer(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  %s = tensor.extract_slice %a[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %s[%i] : tensor<4xf32>
    async.yield %y : f32
  }
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  async.await %t
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @other_buffer_is_written_in_place
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[B:[a-z_0-9]+]]: memref<8xf32>,
func.func @other_buffer_is_written_in_place(%a: tensor<8xf32>, %b: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  // CHECK-NOT: memref.copy
  // CHECK: memref.store %{{.*}}, %[[B]]
  %c = tensor.insert %x into %b[%i] : tensor<8xf32>
  async.await %t
  return %v, %c : f32, tensor<8xf32>
}

// -----

// One path awaits, the other does not.
// CHECK-LABEL: func.func @await_on_one_path
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @await_on_one_path(%a: tensor<8xf32>, %x: f32, %i: index, %c: i1) -> (f32, tensor<8xf32>) {
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  scf.if %c {
    async.await %t
  }
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  async.await %t
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @await_on_both_paths
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @await_on_both_paths(%a: tensor<8xf32>, %x: f32, %i: index, %c: i1) -> (f32, tensor<8xf32>) {
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  // CHECK-NOT: memref.copy
  scf.if %c {
    async.await %t {test.then}
  } else {
    async.await %t
  }
  // CHECK: memref.store %{{.*}}, %[[A]]
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %v, %b : f32, tensor<8xf32>
}

// -----

// The token reaches the await as a result of the branch.
// CHECK-LABEL: func.func @region_in_branch
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[S:[a-z_0-9]+]]: memref<f32>,
func.func @region_in_branch(%a: tensor<8xf32>, %s: memref<f32>, %x: f32, %i: index, %c: i1) -> tensor<8xf32> {
  %t = scf.if %c -> (!async.token) {
    %u = async.region {
      %y = tensor.extract %a[%i] : tensor<8xf32>
      memref.store %y, %s[] : memref<f32>
      async.yield
    }
    scf.yield %u : !async.token
  } else {
    %u = async.ready
    scf.yield %u : !async.token
  }
  // CHECK-NOT: memref.copy
  // CHECK: async.await
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  async.await %t
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @write_before_await_in_loop
func.func @write_before_await_in_loop(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for %{{.*}} iter_args(%[[B:[a-z_0-9]+]] = %{{.*}})
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<8xf32>) {
    // CHECK: memref.load %[[B]]
    %t = async.region {
      %y = tensor.extract %b[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
      async.yield
    }
    // CHECK: memref.copy %[[B]], %[[C:[a-z_0-9]+]] :
    // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
    %d = tensor.insert %x into %b[%i] : tensor<8xf32>
    async.await %t
    scf.yield %d : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// The await of an iteration is for the region of the one before.
// CHECK-LABEL: func.func @await_in_next_iteration
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @await_in_next_iteration(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  // CHECK-NOT: memref.copy
  %r, %last = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a, %p = %ready) -> (tensor<8xf32>, !async.token) {
    // CHECK: async.await
    // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
    async.await %p
    %d = tensor.insert %x into %b[%i] : tensor<8xf32>
    %t = async.region {
      %y = tensor.extract %d[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
      async.yield
    }
    scf.yield %d, %t : tensor<8xf32>, !async.token
  }
  async.await %last
  return %r : tensor<8xf32>
}

// -----

// Here only the last region is awaited, so each one races with the next write.
// CHECK-LABEL: func.func @no_await_in_next_iteration
func.func @no_await_in_next_iteration(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  // CHECK: scf.for %{{.*}} iter_args(%[[B:[a-z_0-9]+]] = %{{.*}},
  // CHECK: memref.copy %[[B]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  %r, %last = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a, %p = %ready) -> (tensor<8xf32>, !async.token) {
    %d = tensor.insert %x into %b[%i] : tensor<8xf32>
    %t = async.region {
      %y = tensor.extract %d[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
      async.yield
    }
    scf.yield %d, %t : tensor<8xf32>, !async.token
  }
  async.await %last
  return %r : tensor<8xf32>
}

// -----

// One copy before the loop is enough for all of its writes.
// CHECK-LABEL: func.func @loop_writes_before_await
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @loop_writes_before_await(%a: tensor<8xf32>, %x: f32, %n: index) -> (f32, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%n] : tensor<8xf32>
    async.yield %y : f32
  }
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  // CHECK-NOT: memref.copy
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<8xf32>) {
    %d = tensor.insert %x into %b[%i] : tensor<8xf32>
    scf.yield %d : tensor<8xf32>
  }
  async.await %t
  return %v, %r : f32, tensor<8xf32>
}

// -----

// Two writes to one buffer are ordered, too.
// CHECK-LABEL: func.func @write_after_pending_write_copies
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @write_after_pending_write_copies(%a: tensor<8xf32>, %x: f32, %y: f32) -> tensor<8xf32> {
  %t, %v = async.region -> (tensor<8xf32>) {
    %b = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    async.yield %b : tensor<8xf32>
  }
  // CHECK: %[[C:[a-z_0-9]+]] = memref.alloc
  // CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[C]] : memref<8xf32>)
  %c = linalg.fill ins(%y : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  async.await %t
  return %c : tensor<8xf32>
}

// -----

// Callers don't know that the region may still read, so it reads a copy.
// CHECK-LABEL: func.func @pending_at_return
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @pending_at_return(%a: tensor<8xf32>, %i: index) -> (f32, !async.token) {
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: async.region
  // CHECK-NEXT: memref.load %[[C]]
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  return %v, %t : f32, !async.token
}

// -----

// An outer region sees to what completes with it.
// CHECK-LABEL: func.func @nested_read
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @nested_read(%a: tensor<8xf32>, %s: memref<f32>, %x: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %t = async.region {
    %inner = async.region {
      %y = tensor.extract %a[%i] : tensor<8xf32>
      memref.store %y, %s[] : memref<f32>
      async.yield
    }
    async.yield %inner : !async.token
  }
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  // CHECK: async.await
  async.await %t
  return %b, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// Blocks and branches, where no structure says what comes next.
// CHECK-LABEL: func.func @await_in_successor
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @await_in_successor(%a: tensor<8xf32>, %x: f32, %i: index, %c: i1) -> (f32, tensor<8xf32>) {
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  cf.cond_br %c, ^bb1(%t : !async.token), ^bb2
^bb1(%u: !async.token):
  cf.br ^bb2
^bb2:
  // CHECK: async.await
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  async.await %t
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %v, %b : f32, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @token_is_block_argument
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[S:[a-z_0-9]+]]: memref<f32>
func.func @token_is_block_argument(%a: tensor<8xf32>, %s: memref<f32>, %x: f32, %i: index, %c: i1) -> tensor<8xf32> {
  %r = async.ready
  cf.cond_br %c, ^bb1, ^bb2(%r : !async.token)
^bb1:
  %t = async.region {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    memref.store %y, %s[] : memref<f32>
    async.yield
  }
  cf.br ^bb2(%t : !async.token)
^bb2(%u: !async.token):
  // CHECK: async.await
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  async.await %u
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @no_await_before_successor
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[S:[a-z_0-9]+]]: memref<f32>
func.func @no_await_before_successor(%a: tensor<8xf32>, %s: memref<f32>, %x: f32, %i: index, %c: i1) -> tensor<8xf32> {
  %r = async.ready
  cf.cond_br %c, ^bb1, ^bb2(%r : !async.token)
^bb1:
  %t = async.region {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    memref.store %y, %s[] : memref<f32>
    async.yield
  }
  cf.br ^bb2(%t : !async.token)
^bb2(%u: !async.token):
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  // CHECK-NEXT: async.await
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  async.await %u
  return %b : tensor<8xf32>
}

// -----

// An await names the region of its own iteration; one of an earlier iteration,
// in which the condition was false, may still read.
// CHECK-LABEL: func.func @await_of_this_iteration
func.func @await_of_this_iteration(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %n: index, %c: i1) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<8xf32>) {
    %t = async.region {
      %y = tensor.extract %b[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
      async.yield
    }
    %d = scf.if %c -> (tensor<8xf32>) {
      // CHECK: async.await
      // CHECK: memref.copy %{{.*}}, %[[C:[a-z_0-9]+]] :
      // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
      async.await %t
      %e = tensor.insert %x into %b[%i] : tensor<8xf32>
      scf.yield %e : tensor<8xf32>
    } else {
      scf.yield %b : tensor<8xf32>
    }
    scf.yield %d : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// The same with the token of the iteration before: that of two iterations ago is
// lost if nobody awaited it.
// CHECK-LABEL: func.func @await_of_last_iteration
func.func @await_of_last_iteration(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %n: index, %c: i1) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %r, %last = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a, %p = %ready) -> (tensor<8xf32>, !async.token) {
    %d = scf.if %c -> (tensor<8xf32>) {
      // CHECK: async.await
      // CHECK: memref.copy %{{.*}}, %[[C:[a-z_0-9]+]] :
      // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
      async.await %p
      %e = tensor.insert %x into %b[%i] : tensor<8xf32>
      scf.yield %e : tensor<8xf32>
    } else {
      scf.yield %b : tensor<8xf32>
    }
    %t = async.region {
      %y = tensor.extract %d[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
      async.yield
    }
    scf.yield %d, %t : tensor<8xf32>, !async.token
  }
  async.await %last
  return %r : tensor<8xf32>
}

// -----

// What a loop carries is one buffer, inside, before and after.
// CHECK-LABEL: func.func @write_after_loop
func.func @write_after_loop(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %r, %last = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a, %p = %ready) -> (tensor<8xf32>, !async.token) {
    async.await %p
    %t = async.region {
      %y = tensor.extract %b[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
      async.yield
    }
    scf.yield %b, %t : tensor<8xf32>, !async.token
  }
  // CHECK: memref.copy %{{.*}}, %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  // CHECK-NEXT: async.await
  %d = tensor.insert %x into %r[%n] : tensor<8xf32>
  async.await %last
  return %d : tensor<8xf32>
}

// -----

// What does not read the tensor needs no copy of it.
// CHECK-LABEL: func.func @overwrite_before_await
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @overwrite_before_await(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // CHECK: async.region
  // CHECK: %[[C:[a-z_0-9]+]] = memref.alloc
  // CHECK-NOT: memref.copy
  // CHECK: linalg.fill ins(%{{.*}}) outs(%[[C]] :
  %t, %v = async.region -> (f32) {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    async.yield %y : f32
  }
  %b = linalg.fill ins(%x : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  async.await %t
  return %v, %b : f32, tensor<8xf32>
}

// -----

// Each iteration has a buffer of its own, which the tasks of the iterations
// before do not access.
// CHECK-LABEL: func.func @own_buffer_in_each_iteration
func.func @own_buffer_in_each_iteration(%s: memref<8xf32>, %x: f32, %n: index) {
  // CHECK-NOT: memref.copy
  // CHECK: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %last = scf.for %k = %c0 to %n step %c1 iter_args(%u = %ready) -> !async.token {
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %t = async.region {
      %g = tensor.insert %x into %f[%k] : tensor<8xf32>
      %h = tensor.insert %x into %g[%c0] : tensor<8xf32>
      %y = tensor.extract %h[%k] : tensor<8xf32>
      memref.store %y, %s[%k] : memref<8xf32>
    }
    %j = async.join %u, %t
    scf.yield %j : !async.token
  }
  async.await %last
  return
}

// -----

// One copy serves all tasks that are nested in one that is pending at the end.
// CHECK-LABEL: func.func @nested_tasks_pending_at_return
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @nested_tasks_pending_at_return(%a: tensor<8xf32>, %s: memref<8xf32>, %i: index) -> !async.token {
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NOT: memref.copy
  // CHECK: memref.load %[[C]]
  %t = async.region {
    %u = async.region {
      %y = tensor.extract %a[%i] : tensor<8xf32>
      memref.store %y, %s[%i] : memref<8xf32>
    }
  }
  return %t : !async.token
}

// -----

// To its callers a func.func has ended when it returns, and what it returns is
// complete.
// CHECK-LABEL: func.func @returns_after_write
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>,
func.func @returns_after_write(%a: tensor<8xf32>, %x: f32, %i: index) -> (tensor<8xf32>, !async.token) {
  // CHECK-NOT: memref.copy
  // CHECK: %[[T:[a-z_0-9]+]] = async.region
  // CHECK-NEXT: memref.store %{{.*}}, %[[A]]
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: return
  %t, %p = async.region -> (tensor<8xf32>) {
    %b = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %b : tensor<8xf32>
  }
  return %p, %t : tensor<8xf32>, !async.token
}

// -----

// They may write to what they passed: what the region does to it goes elsewhere.
// CHECK-LABEL: func.func @writes_argument_after_return
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32>, %[[S:[a-z_0-9]+]]: memref<8xf32>,
func.func @writes_argument_after_return(%a: tensor<8xf32>, %s: memref<8xf32>, %x: f32, %i: index) -> !async.token {
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK: async.region
  // CHECK-NEXT: memref.store %{{.*}}, %[[C]]
  %t = async.region {
    %b = tensor.insert %x into %a[%i] : tensor<8xf32>
    %y = tensor.extract %b[%i] : tensor<8xf32>
    memref.store %y, %s[%i] : memref<8xf32>
  }
  return %t : !async.token
}

// -----

// CHECK-LABEL: func.func @returns_own_buffer
func.func @returns_own_buffer(%x: f32, %i: index) -> (tensor<8xf32>, !async.token) {
  // CHECK-NOT: memref.copy
  // CHECK: return
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %t, %p = async.region -> (tensor<8xf32>) {
    %b = tensor.insert %x into %f[%i] : tensor<8xf32>
    async.yield %b : tensor<8xf32>
  }
  return %p, %t : tensor<8xf32>, !async.token
}
