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
