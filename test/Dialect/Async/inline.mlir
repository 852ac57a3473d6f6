// RUN: async-opt %s --inline --split-input-file | FileCheck %s

func.func private @sync(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @call_in_region
// CHECK-SAME: (%[[X:[a-z_0-9]+]]: f32)
func.func @call_in_region(%x: f32) -> (!async.token, f32) {
  // CHECK-NEXT: async.region -> (f32) {
  // CHECK-NEXT: %[[Y:[a-z_0-9]+]] = arith.addf %[[X]], %[[X]]
  // CHECK-NEXT: async.yield %[[Y]] : f32
  %t, %v = async.region -> (f32) {
    %y = func.call @sync(%x) : (f32) -> f32
    async.yield %y : f32
  }
  return %t, %v : !async.token, f32
}

// -----

func.func private @has_region(%m: memref<4xf32>, %i: index, %x: f32) -> !async.token {
  %t = async.region {
    memref.store %x, %m[%i] : memref<4xf32>
    async.yield
  }
  return %t : !async.token
}

// CHECK-LABEL: func.func @region_is_inlined
func.func @region_is_inlined(%m: memref<4xf32>, %i: index, %x: f32) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: async.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: async.await %[[T]]
  %t = func.call @has_region(%m, %i, %x) : (memref<4xf32>, index, f32) -> !async.token
  async.await %t
  return
}

// -----

// The callee issues its operations where it is called; what it yields, its token
// included, takes the place of the results.
async.func private @fill(%m: memref<4xf32>, %i: index, %x: f32) -> (memref<4xf32>, !async.token) {
  %t = async.region {
    memref.store %x, %m[%i] : memref<4xf32>
    async.yield
  }
  async.yield %m, %t : memref<4xf32>, !async.token
}

// CHECK-LABEL: func.func @async_call
// CHECK-SAME: (%[[M:[a-z_0-9]+]]: memref<4xf32>, %[[N:[a-z_0-9]+]]: memref<4xf32>, %[[I:[a-z_0-9]+]]: index, %[[X:[a-z_0-9]+]]: f32)
func.func @async_call(%m: memref<4xf32>, %n: memref<4xf32>, %i: index, %x: f32) -> f32 {
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: %[[T:[a-z_0-9]+]] = async.region {
  // CHECK-NEXT: memref.store %[[X]], %[[M]][%[[I]]]
  // CHECK-NEXT: async.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: memref.load %[[M]][%[[I]]]
  memref.store %x, %n[%i] : memref<4xf32>
  %r, %t = async.call @fill(%m, %i, %x) : (memref<4xf32>, index, f32) -> (memref<4xf32>, !async.token)
  memref.store %x, %n[%i] : memref<4xf32>
  async.await %t
  %v = memref.load %r[%i] : memref<4xf32>
  return %v : f32
}

// -----

async.func private @leaf(%x: f32) -> (f32, !async.token) {
  %t, %v = async.region -> (f32) {
    %y = arith.addf %x, %x : f32
    async.yield %y : f32
  }
  async.yield %v, %t : f32, !async.token
}

// CHECK-LABEL: async.func @async_call_in_region
async.func @async_call_in_region(%x: f32) -> (f32, !async.token) {
  // CHECK-NEXT: %[[T:[a-z_0-9]+]], %[[V:[a-z_0-9]+]] = async.region -> (f32) {
  // CHECK-NEXT: %[[IT:[a-z_0-9]+]], %[[IV:[a-z_0-9]+]] = async.region -> (f32) {
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: async.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: async.yield %[[IV]], %[[IT]] : f32, !async.token
  // CHECK-NEXT: }
  // CHECK-NEXT: async.yield %[[V]], %[[T]]
  %t, %v = async.region -> (f32) {
    %r, %u = async.call @leaf(%x) : (f32) -> (f32, !async.token)
    async.yield %r, %u : f32, !async.token
  }
  async.yield %v, %t : f32, !async.token
}

// -----

async.func private @branches(%c: i1, %m: memref<4xf32>, %i: index, %x: f32, %t: !async.token) -> !async.token {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  async.yield %t : !async.token
^bb2:
  %u = async.region {
    memref.store %x, %m[%i] : memref<4xf32>
    async.yield
  }
  async.yield %u : !async.token
}

// CHECK-LABEL: func.func @callee_with_blocks
// CHECK-SAME: (%[[C:[a-z_0-9]+]]: i1, %{{.*}}: memref<4xf32>, %{{.*}}: index, %{{.*}}: f32, %[[T:[a-z_0-9]+]]: !async.token)
func.func @callee_with_blocks(%c: i1, %m: memref<4xf32>, %i: index, %x: f32, %t: !async.token) {
  // CHECK: cf.cond_br %[[C]], ^[[END:[a-z_0-9]+]](%[[T]] : !async.token), ^[[WORK:[a-z_0-9]+]]
  // CHECK: ^[[WORK]]:
  // CHECK-NEXT: %[[U:[a-z_0-9]+]] = async.region
  // CHECK: cf.br ^[[END]](%[[U]] : !async.token)
  // CHECK: ^[[END]](%[[R:[a-z_0-9]+]]: !async.token):
  // CHECK-NEXT: async.await %[[R]]
  %r = async.call @branches(%c, %m, %i, %x, %t) : (i1, memref<4xf32>, index, f32, !async.token) -> !async.token
  async.await %r
  return
}

// A region has one block.
// CHECK-LABEL: func.func @callee_with_blocks_in_region
func.func @callee_with_blocks_in_region(%c: i1, %m: memref<4xf32>, %i: index, %x: f32, %t: !async.token) {
  // CHECK: async.region {
  // CHECK-NEXT: async.call @branches
  %v = async.region {
    %r = async.call @branches(%c, %m, %i, %x, %t) : (i1, memref<4xf32>, index, f32, !async.token) -> !async.token
    async.yield %r : !async.token
  }
  return
}

// -----

async.func private @once(%x: f32) -> !async.token {
  %t = async.ready
  async.yield %t : !async.token
}

async.func private @never(%x: f32) -> !async.token attributes {no_inline} {
  %t = async.ready
  async.yield %t : !async.token
}

// CHECK-LABEL: func.func @no_inline
func.func @no_inline(%x: f32) {
  // CHECK-NEXT: async.call @once
  // CHECK-NEXT: async.call @never
  %t = async.call @once(%x) {no_inline} : (f32) -> !async.token
  %u = async.call @never(%x) : (f32) -> !async.token
  return
}
