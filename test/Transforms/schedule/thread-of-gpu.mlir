// RUN: async-opt %s --gpux-schedule=chip=sm_80 --allow-unregistered-dialect 2>/dev/null | FileCheck %s
// RUN: async-opt %s --gpux-schedule=chip=sm_90 --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// On a GPU, copies, awaits and barriers move, and nothing else.

!tile = memref<64x8xf16, #gpu.address_space<workgroup>>
!a = vector<4x2xf16>
!b = vector<2x2xf16>
!acc = vector<2x2xf32>

// The await comes after the first product, which takes no time while the copy is on its way. The second one takes none while
// the load is.
// CHECK-LABEL: func.func @await_sinks
// CHECK: gpux.copy
// CHECK-NEXT: nvgpu.mma.sync
// CHECK-NEXT: async.await
// CHECK-NEXT: nvgpu.mma.sync
// CHECK-NEXT: memref.load
func.func @await_sinks(%A: memref<64x8xf16>, %t: !tile, %i: index, %a: !a, %b: !b, %x: !acc) -> (f16, !acc) {
  %copied = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  async.await %copied
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %z = nvgpu.mma.sync(%a, %b, %y) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %read = memref.load %t[%i, %i] : !tile
  return %read, %z : f16, !acc
}

// A read of another buffer does not need it.
// CHECK-LABEL: func.func @other_buffer
// CHECK: memref.load %arg2
// CHECK: async.await
// CHECK: memref.load %arg1
func.func @other_buffer(%A: memref<64x8xf16>, %t: !tile {llvm.noalias}, %u: !tile {llvm.noalias}, %i: index) -> (f16, f16) {
  %copied = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  async.await %copied
  %other = memref.load %u[%i, %i] : !tile
  %double = arith.addf %other, %other : f16
  %read = memref.load %t[%i, %i] : !tile
  return %read, %double : f16, f16
}

// The load/store unit takes the copies while the tensor core is busy.
// CHECK-LABEL: func.func @copies_among_products
// CHECK: gpux.copy
// CHECK: nvgpu.mma.sync
// CHECK: gpux.copy
// CHECK: nvgpu.mma.sync
func.func @copies_among_products(%A: memref<64x8xf16>, %t: !tile, %i: index, %a: !a, %b: !b, %x: !acc) -> (!async.token, !acc, !acc, !acc, !acc, !acc, !acc) {
  %c1 = arith.constant 1 : index
  %j = arith.addi %i, %c1 : index
  %first = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  %second = gpux.copy async %A[%j, %i], %t[%j, %i], 8 : memref<64x8xf16> to !tile
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %z = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %u = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %v = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %w = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %both = async.join %first, %second
  return %both, %x, %y, %z, %u, %v, %w : !async.token, !acc, !acc, !acc, !acc, !acc, !acc
}

// A copy does not rise above a read of what it overwrites, nor above the barrier that all others' reads come before.
// CHECK-LABEL: func.func @copy_stays_behind_barrier
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK: gpux.copy
// CHECK: async.await
func.func @copy_stays_behind_barrier(%A: memref<64x8xf16>, %t: !tile, %i: index, %a: !a, %b: !b, %x: !acc) -> (f16, !acc) {
  %read = memref.load %t[%i, %i] : !tile
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  gpu.barrier
  %copied = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  async.await %copied
  return %read, %y : f16, !acc
}

// It may come after one: it is in flight until its await.
// CHECK-LABEL: func.func @copy_passes_barrier
// CHECK: memref.load %arg2
// CHECK: gpu.barrier
// CHECK-NEXT: gpux.copy
// CHECK-NEXT: nvgpu.ldmatrix
func.func @copy_passes_barrier(%A: memref<64x8xf16>, %t: !tile, %u: !tile, %i: index, %b: !b, %x: !acc) -> (!async.token, f16, !acc) {
  %copied = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  %read = memref.load %u[%i, %i] : !tile
  gpu.barrier
  %a = nvgpu.ldmatrix %u[%i, %i] {numTiles = 4 : i32, transpose = false} : !tile -> !a
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  return %copied, %read, %y : !async.token, f16, !acc
}

// The barrier itself stays behind what comes before it, though a copy that may pass it is between them.
// CHECK-LABEL: func.func @barrier_stays_behind_read
// CHECK: memref.load %arg1
// CHECK: gpu.barrier
func.func @barrier_stays_behind_read(%A: memref<64x8xf16>, %t: !tile, %i: index) -> (!async.token, f16, f16, f16) {
  %first = memref.load %A[%i, %i] : memref<64x8xf16>
  %double = arith.addf %first, %first : f16
  %read = memref.load %t[%i, %i] : !tile
  %copied = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  gpu.barrier
  %last = memref.load %A[%i, %i] : memref<64x8xf16>
  return %copied, %double, %read, %last : !async.token, f16, f16, f16
}

// What others are to see stays before the barrier.
// CHECK-LABEL: func.func @await_stays_before_barrier
// CHECK: async.await
// CHECK: gpu.barrier
// CHECK: memref.load
func.func @await_stays_before_barrier(%A: memref<64x8xf16>, %t: !tile, %u: !tile, %i: index) -> f16 {
  %copied = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  async.await %copied
  gpu.barrier
  %read = memref.load %u[%i, %i] : !tile
  return %read : f16
}

// A token of the last iteration may be any copy's: all reads of what they write stay behind.
// CHECK-LABEL: func.func @token_of_last_iteration
// CHECK: scf.for
// CHECK: async.await
// CHECK-NEXT: nvgpu.ldmatrix
// CHECK: gpux.copy
func.func @token_of_last_iteration(%A: memref<64x8xf16>, %t: !tile, %n: index, %a: !a, %b: !b, %x: !acc) -> !acc {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = async.ready
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%token = %ready, %acc = %x) -> (!async.token, !acc) {
    async.await %token
    %f = nvgpu.ldmatrix %t[%i, %c0] {numTiles = 4 : i32, transpose = false} : !tile -> !a
    %y = nvgpu.mma.sync(%f, %b, %acc) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
    %next = gpux.copy async %A[%i, %c0], %t[%i, %c0], 8 : memref<64x8xf16> to !tile
    scf.yield %next, %y : !async.token, !acc
  }
  async.await %sum#0
  return %sum#1 : !acc
}

// Nobody knows what a caller's token stands for.
// CHECK-LABEL: func.func @token_of_caller
// CHECK: async.await
// CHECK-NEXT: memref.load
func.func @token_of_caller(%token: !async.token, %A: memref<64x8xf16>, %t: !tile, %i: index, %a: !a, %b: !b, %x: !acc) -> (f16, !acc) {
  async.await %token
  %read = memref.load %A[%i, %i] : memref<64x8xf16>
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  return %read, %y : f16, !acc
}

// Loads and products keep their order, though the second load would better come first.
// CHECK-LABEL: func.func @the_rest_stays
// CHECK-NEXT: nvgpu.mma.sync
// CHECK-NEXT: memref.load
// CHECK-NEXT: arith.addf
func.func @the_rest_stays(%t: !tile, %i: index, %a: !a, %b: !b, %x: !acc) -> (f16, !acc) {
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %read = memref.load %t[%i, %i] : !tile
  %double = arith.addf %read, %read : f16
  return %double, %y : f16, !acc
}

// What says where it runs, and for how long, moves as well.
// CHECK-LABEL: func.func @by_attributes
// CHECK: "any.load"() {{.*}} -> i1
// CHECK-NEXT: "any.load"() {{.*}} -> i2
// CHECK-NEXT: "any.use"
func.func @by_attributes() {
  %p = "any.load"() {async.engine = "lsu", async.latency = 20 : i64, async.occupancy = 1 : i64} : () -> i1
  "any.use"(%p) {async.engine = "fma", async.latency = 5 : i64} : (i1) -> ()
  %q = "any.load"() {async.engine = "lsu", async.latency = 20 : i64, async.occupancy = 1 : i64} : () -> i2
  "any.use"(%q) {async.engine = "fma", async.latency = 5 : i64} : (i2) -> ()
  return
}

// The second copy waits for the first one, whose tile is loaded after that: so the load comes after an await.
// CHECK-LABEL: func.func @dependency
// CHECK: %[[first:.*]] = gpux.copy async
// CHECK-NEXT: async.await %[[first]]
// CHECK-NEXT: nvgpu.ldmatrix
func.func @dependency(%A: memref<64x8xf16>, %t: !tile {llvm.noalias}, %u: !tile {llvm.noalias}, %i: index, %b: !b, %x: !acc) -> (!async.token, !acc, !acc, !acc) {
  %first = gpux.copy async %A[%i, %i], %t[%i, %i], 8 : memref<64x8xf16> to !tile
  %second = gpux.copy async [%first] %A[%i, %i], %u[%i, %i], 8 : memref<64x8xf16> to !tile
  %a = nvgpu.ldmatrix %t[%i, %i] {numTiles = 4 : i32, transpose = false} : !tile -> !a
  %y = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %z = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  %w = nvgpu.mma.sync(%a, %b, %x) {mmaShape = [16, 8, 16]} : (!a, !b, !acc) -> !acc
  return %second, %y, %z, %w : !async.token, !acc, !acc, !acc
}
