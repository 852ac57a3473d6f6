// Copies between pointers that are computed from memrefs, as upstream's lowering of `nvgpu` leaves them.
//
// RUN: async-opt %s --gpux-groups-to-tokens='weaken=false' | FileCheck %s

!src = memref<64xf32>
!dst = memref<64xf32, 3>
!dst_struct = !llvm.struct<(ptr<3>, ptr<3>, i64, array<1 x i64>, array<1 x i64>)>
!src_struct = !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>

// CHECK-LABEL: func.func @descriptors
// CHECK: %[[AT:[a-z0-9_]+]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[DST:[a-z0-9_]+]] = memref.reinterpret_cast %{{.*}} to offset: [%[[AT]]], sizes: [4], strides: [1] : memref<64xf32, 3>
// CHECK: %[[FROM:[a-z0-9_]+]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[SRC:[a-z0-9_]+]] = memref.reinterpret_cast %{{.*}} to offset: [%[[FROM]]], sizes: [4], strides: [1] : memref<64xf32>
// CHECK: %[[T:[a-z0-9_]+]] = gpux.copy async %[[SRC]][%{{.*}}], %[[DST]][%{{.*}}], 4 {bypass_l1}
// CHECK-NEXT: async.await %[[T]]
// CHECK-NEXT: return
func.func @descriptors(%src: !src, %dst: !dst, %i: i64) {
  %d = builtin.unrealized_conversion_cast %dst : !dst to !dst_struct
  %dp = llvm.extractvalue %d[1] : !dst_struct
  %to = llvm.getelementptr %dp[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
  %s = builtin.unrealized_conversion_cast %src : !src to !src_struct
  %sp = llvm.extractvalue %s[1] : !src_struct
  %row = llvm.getelementptr %sp[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %element = llvm.getelementptr %row[8] : (!llvm.ptr) -> !llvm.ptr, f32
  %from = llvm.addrspacecast %element : !llvm.ptr to !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  return
}

// CHECK-LABEL: func.func @addresses
// CHECK: %[[DST:[a-z0-9_]+]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [1], strides: [1] : memref<64xf32, 3>
// CHECK: %[[SRC:[a-z0-9_]+]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [1], strides: [1] : memref<64xf32>
// CHECK: %[[T:[a-z0-9_]+]] = gpux.copy async %[[SRC]][%{{.*}}], %[[DST]][%{{.*}}], 1 :
// CHECK-NEXT: async.await %[[T]]
// CHECK-NEXT: return
func.func @addresses(%src: !src, %dst: !dst) {
  %d = memref.extract_aligned_pointer_as_index %dst : !dst -> index
  %di = arith.index_cast %d : index to i64
  %to = llvm.inttoptr %di : i64 to !llvm.ptr<3>
  %s = memref.extract_aligned_pointer_as_index %src : !src -> index
  %si = arith.index_cast %s : index to i64
  %from = llvm.inttoptr %si : i64 to !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %from, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  return
}

// Bytes of the source that are whole elements, as upstream computes them of a number of elements; here of f32, and of i8.
//
// CHECK-LABEL: func.func @partial
// CHECK: %[[BYTES:[a-z0-9_]+]] = arith.index_castui %{{.*}} : i32 to index
// CHECK: %[[TWO:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK: %[[COUNT:[a-z0-9_]+]] = arith.shrui %[[BYTES]], %[[TWO]] : index
// CHECK: %[[T:[a-z0-9_]+]] = gpux.copy async %{{.*}}, %{{.*}}, 4, %[[COUNT]] {bypass_l1}
// CHECK-NEXT: async.await %[[T]]
func.func @partial(%src: !src, %dst: !dst, %elements: i64) {
  %d = memref.extract_aligned_pointer_as_index %dst : !dst -> index
  %di = arith.index_cast %d : index to i64
  %to = llvm.inttoptr %di : i64 to !llvm.ptr<3>
  %s = memref.extract_aligned_pointer_as_index %src : !src -> index
  %si = arith.index_cast %s : index to i64
  %from = llvm.inttoptr %si : i64 to !llvm.ptr<1>
  %three = llvm.mlir.constant(3 : i32) : i32
  %bits = llvm.mlir.constant(32 : i32) : i32
  %n = llvm.trunc %elements : i64 to i32
  %all = llvm.mul %bits, %n : i32
  %bytes = llvm.lshr %all, %three : i32
  nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  return
}

// CHECK-LABEL: func.func @partial_of_bytes
// CHECK: %[[BYTES:[a-z0-9_]+]] = arith.index_castui %arg2 : i32 to index
// CHECK: gpux.copy async %{{.*}}, %{{.*}}, 16, %[[BYTES]] {bypass_l1}
func.func @partial_of_bytes(%src: memref<64xi8>, %dst: memref<64xi8, 3>, %bytes: i32) {
  %d = memref.extract_aligned_pointer_as_index %dst : memref<64xi8, 3> -> index
  %di = arith.index_cast %d : index to i64
  %to = llvm.inttoptr %di : i64 to !llvm.ptr<3>
  %s = memref.extract_aligned_pointer_as_index %src : memref<64xi8> -> index
  %si = arith.index_cast %s : index to i64
  %from = llvm.inttoptr %si : i64 to !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  return
}
