// RUN: async-opt %s --one-shot-bufferize --split-input-file | FileCheck %s
// RUN: async-opt %s --one-shot-bufferize="bufferize-function-boundaries" --split-input-file | FileCheck %s --check-prefix=BOUNDARIES

// The signature of an async.func is bufferized with its body.

// CHECK-LABEL: async.func @f
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32, strided<[?], offset: ?>>, %[[X:[a-z_0-9]+]]: f32) -> (memref<8xf32, strided<[?], offset: ?>>, !async.token)
// BOUNDARIES-LABEL: async.func @f
// BOUNDARIES-SAME: (%{{.*}}: memref<8xf32, strided<[?], offset: ?>>, %{{.*}}: f32) -> (memref<8xf32, strided<[?], offset: ?>>, !async.token)
async.func @f(%a: tensor<8xf32>, %x: f32) -> (tensor<8xf32>, !async.token) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = async.region -> (memref<8xf32>) {
  // CHECK: linalg.generic
  // CHECK-SAME: ins(%[[A]] : memref<8xf32, strided<[?], offset: ?>>)
  %t, %v = async.region -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %x : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    async.yield %r : tensor<8xf32>
  }
  // CHECK: %[[R:[a-z_0-9]+]] = memref.cast %[[V]] : memref<8xf32> to memref<8xf32, strided<[?], offset: ?>>
  // CHECK-NEXT: async.yield %[[R]], %[[T]] : memref<8xf32, strided<[?], offset: ?>>, !async.token
  async.yield %v, %t : tensor<8xf32>, !async.token
}

// BOUNDARIES-LABEL: func.func @caller
func.func @caller(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  // BOUNDARIES: %[[R:[a-z_0-9]+]]:2 = async.call @f(%{{.*}}, %{{.*}}) : (memref<8xf32, strided<[?], offset: ?>>, f32) -> (memref<8xf32, strided<[?], offset: ?>>, !async.token)
  // BOUNDARIES-NEXT: async.await %[[R]]#1
  // BOUNDARIES-NEXT: return %[[R]]#0
  %r, %t = async.call @f(%a, %x) : (tensor<8xf32>, f32) -> (tensor<8xf32>, !async.token)
  async.await %t
  return %r : tensor<8xf32>
}

// -----

// CHECK: async.func private @declared(memref<8xf32, strided<[?], offset: ?>>) -> (f32, !async.token)
async.func private @declared(tensor<8xf32>) -> (f32, !async.token)

// The callee may read its argument until its token is complete.
// BOUNDARIES-LABEL: func.func @write_while_callee_runs
// BOUNDARIES-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32,
func.func @write_while_callee_runs(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // BOUNDARIES: async.call
  // BOUNDARIES: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // BOUNDARIES-NEXT: memref.store %{{.*}}, %[[C]]
  %r, %t = async.call @declared(%a) : (tensor<8xf32>) -> (f32, !async.token)
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  async.await %t
  return %r, %b : f32, tensor<8xf32>
}

// BOUNDARIES-LABEL: func.func @write_after_callee
// BOUNDARIES-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32,
func.func @write_after_callee(%a: tensor<8xf32>, %x: f32, %i: index) -> (f32, tensor<8xf32>) {
  // BOUNDARIES: async.await
  // BOUNDARIES-NEXT: memref.store %{{.*}}, %[[A]]
  %r, %t = async.call @declared(%a) : (tensor<8xf32>) -> (f32, !async.token)
  async.await %t
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %r, %b : f32, tensor<8xf32>
}

// -----

// An argument belongs to the caller.
// CHECK-LABEL: async.func @argument_is_not_written
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32,
async.func @argument_is_not_written(%a: tensor<8xf32>, %x: f32, %i: index) -> (tensor<8xf32>, !async.token) {
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK: memref.store %{{.*}}, %[[C]]
  %b = tensor.insert %x into %a[%i] : tensor<8xf32>
  %t = async.ready
  async.yield %b, %t : tensor<8xf32>, !async.token
}

// -----

// The token that is returned is that of another region: nobody can wait for the
// one that reads.
// CHECK-LABEL: async.func @token_does_not_cover
// CHECK-SAME: (%[[A:[a-z_0-9]+]]: memref<8xf32,
async.func @token_does_not_cover(%a: tensor<8xf32>, %s: memref<f32>, %i: index) -> !async.token {
  // CHECK: memref.copy %[[A]], %[[C:[a-z_0-9]+]] :
  // CHECK-NEXT: async.region
  // CHECK-NEXT: memref.load %[[C]]
  %t = async.region {
    %y = tensor.extract %a[%i] : tensor<8xf32>
    memref.store %y, %s[] : memref<f32>
    async.yield
  }
  %u = async.ready
  async.yield %u : !async.token
}

// -----

// Control flow in an async.func need not be structured.
// CHECK-LABEL: async.func @several_blocks
// CHECK-SAME: (%{{.*}}: i1, %[[A:[a-z_0-9]+]]: memref<8xf32,
async.func @several_blocks(%c: i1, %a: tensor<8xf32>, %x: f32, %i: index) -> (tensor<8xf32>, !async.token) {
  cf.cond_br %c, ^task, ^nothing
^task:
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region
  // CHECK: %[[C:[a-z_0-9]+]] = memref.cast %[[P]]
  // CHECK-NEXT: cf.br ^[[END:[a-z_0-9]+]](%[[C]], %[[T]] : memref<8xf32, strided<[?], offset: ?>>, !async.token)
  %t, %p = async.region -> (tensor<8xf32>) {
    %b = tensor.insert %x into %a[%i] : tensor<8xf32>
    async.yield %b : tensor<8xf32>
  }
  cf.br ^end(%p, %t : tensor<8xf32>, !async.token)
^nothing:
  // CHECK: cf.br ^[[END]](%[[A]],
  %ready = async.ready
  cf.br ^end(%a, %ready : tensor<8xf32>, !async.token)
// CHECK: ^[[END]](%{{.*}}: memref<8xf32, strided<[?], offset: ?>>, %{{.*}}: !async.token):
^end(%r: tensor<8xf32>, %u: !async.token):
  async.yield %r, %u : tensor<8xf32>, !async.token
}

// -----

async.func private @passed_through(tensor<8xf32>) -> (tensor<8xf32>, !async.token)

// The operand is copied, before the call, and not the result, which is pending.
// CHECK-LABEL: func.func @result_is_not_copied
func.func @result_is_not_copied(%a: tensor<8xf32>, %x: f32, %i: index) -> tensor<8xf32> {
  // CHECK: memref.copy
  // CHECK: %[[R:[a-z_0-9]+]]:2 = async.call
  // CHECK-NEXT: async.await %[[R]]#1
  // CHECK-NEXT: memref.store %{{.*}}, %[[R]]#0
  %r, %t = async.call @passed_through(%a) : (tensor<8xf32>) -> (tensor<8xf32>, !async.token)
  async.await %t
  %b = tensor.insert %x into %r[%i] : tensor<8xf32>
  return %b : tensor<8xf32>
}
