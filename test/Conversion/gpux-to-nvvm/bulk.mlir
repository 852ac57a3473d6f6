// Bulk copies take pointers and bytes.
//
// RUN: async-opt %s --gpux-to-nvvm | FileCheck %s

!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>

// CHECK-LABEL: gpu.func @store
// CHECK-SAME: (%[[DST:.*]]: memref<1024xf32>)
// CHECK-SAME: workgroup(%[[SRC:.*]] : memref<1024xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: %[[A:.*]] = memref.extract_aligned_pointer_as_index %[[SRC]]
// CHECK: %[[B:.*]] = arith.index_cast %[[A]] : index to i64
// CHECK: %[[FROM:.*]] = llvm.inttoptr %[[B]] : i64 to !llvm.ptr<3>
// CHECK: %[[A:.*]] = memref.extract_aligned_pointer_as_index %[[DST]]
// CHECK: %[[B:.*]] = arith.index_cast %[[A]] : index to i64
// CHECK: %[[C:.*]] = llvm.inttoptr %[[B]] : i64 to !llvm.ptr
// CHECK: %[[TO:.*]] = llvm.addrspacecast %[[C]] : !llvm.ptr to !llvm.ptr<1>
// CHECK: %[[BYTES:.*]] = arith.constant 4096 : i32
// CHECK: nvvm.cp.async.bulk.global.shared.cta %[[TO]], %[[FROM]], %[[BYTES]] {mark} : <1>, <3>
// CHECK-NEXT: gpu.return
gpu.module @kernels {
  gpu.func @store(%dst: memref<1024xf32>) workgroup(%src: memref<1024xf32, #gpu.address_space<workgroup>>) kernel {
    gpux.bulk_store %src, %dst {mark} : memref<1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
    gpu.return
  }
}

// Global memory that says so needs no cast.
// CHECK-LABEL: func.func @load
// CHECK-SAME: %[[SRC:[^:]*]]: memref<1024xf16, 1>, %{{.*}}: memref<{{.*}}>, %[[RING:[^:]*]]: !nvgpu{{.*}}, %[[SLOT:[^:]*]]: index
// CHECK: %[[A:.*]] = memref.extract_aligned_pointer_as_index %[[SRC]]
// CHECK: %[[B:.*]] = arith.index_cast %[[A]] : index to i64
// CHECK: %[[FROM:.*]] = llvm.inttoptr %[[B]] : i64 to !llvm.ptr<1>
// CHECK: %[[TO:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<3>
// CHECK: %[[A:.*]] = nvgpu.mbarrier.get %[[RING]][%[[SLOT]]] : {{.*}} -> i32
// CHECK: %[[BARRIER:.*]] = llvm.inttoptr %[[A]] : i32 to !llvm.ptr<3>
// CHECK: %[[CLUSTER:.*]] = llvm.addrspacecast %[[TO]] : !llvm.ptr<3> to !llvm.ptr<7>
// CHECK: %[[BYTES:.*]] = arith.constant 2048 : i32
// CHECK: nvvm.cp.async.bulk.shared.cluster.global %[[CLUSTER]], %[[FROM]], %[[BARRIER]], %[[BYTES]] : !llvm.ptr<7>, <1>
func.func @load(%src: memref<1024xf16, 1>, %dst: memref<1024xf16, 3>, %ring: !ring, %slot: index) {
  gpux.bulk_load %src, %dst, %ring[%slot] : memref<1024xf16, 1> to memref<1024xf16, 3>, !ring
  return
}

// The offset is in bytes.
// CHECK-LABEL: func.func @offsets
// CHECK-SAME: %[[SRC:[^:]*]]: memref<1024xf16, strided<[1], offset: ?>, 3>, %[[DST:[^:]*]]: memref
// CHECK: %[[A:.*]] = memref.extract_aligned_pointer_as_index %[[SRC]]
// CHECK: %[[SIZE:.*]] = arith.constant 2 : index
// CHECK: %{{.*}}, %[[OFFSET:.*]], %{{.*}}, %{{.*}} = memref.extract_strided_metadata %[[SRC]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[OFFSET]], %[[SIZE]] : index
// CHECK: arith.addi %[[A]], %[[BYTES]] : index
// CHECK: %[[A:.*]] = memref.extract_aligned_pointer_as_index %[[DST]]
// CHECK: %[[SIZE:.*]] = arith.constant 2 : index
// CHECK: %[[OFFSET:.*]] = arith.constant 64 : index
// CHECK: %[[BYTES:.*]] = arith.muli %[[OFFSET]], %[[SIZE]] : index
// CHECK: arith.addi %[[A]], %[[BYTES]] : index
// CHECK: nvvm.cp.async.bulk.global.shared.cta
func.func @offsets(%src: memref<1024xf16, strided<[1], offset: ?>, 3>, %dst: memref<1024xf16, strided<[1], offset: 64>>) {
  gpux.bulk_store %src, %dst : memref<1024xf16, strided<[1], offset: ?>, 3> to memref<1024xf16, strided<[1], offset: 64>>
  return
}
