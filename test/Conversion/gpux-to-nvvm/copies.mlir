// RUN: async-opt %s --gpux-to-nvvm | FileCheck %s

!Global = memref<128x64xf16>
!Slots = memref<4x64xf16, #gpu.address_space<workgroup>>

gpu.module @copies {
  // CHECK-LABEL: gpu.func @copy
  // CHECK-SAME: %[[SRC:[a-z0-9]*]]: memref<128x64xf16>, %[[I:[a-z0-9]*]]: index, %[[J:[a-z0-9]*]]: index, %[[SLOT:[a-z0-9]*]]: index
  // CHECK-SAME: workgroup(%[[DST:[a-z0-9]*]] : memref<4x64xf16
  gpu.func @copy(%src: !Global, %i: index, %j: index, %slot: index) workgroup(%dst: !Slots) kernel {
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca
    gpux.copy %src[%i, %j], %dst[%slot, %j], 4 : !Global to !Slots
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
    gpux.copy %src[%i, %j], %dst[%slot, %j], 8 {bypass_l1} : !Global to !Slots
    // CHECK-NOT: gpux.
    gpu.return
  }

  // The partial count stays a run-time value.
  // CHECK-LABEL: gpu.func @partial
  // CHECK-SAME: %[[COUNT:[a-z0-9]*]]: index)
  // CHECK: %[[WIDE:.*]] = builtin.unrealized_conversion_cast %[[COUNT]] : index to i64
  // CHECK: %[[ELEMENTS:.*]] = llvm.trunc %[[WIDE]] : i64 to i32
  // CHECK: %[[BITS:.*]] = llvm.mul %{{.*}}, %[[ELEMENTS]] : i32
  // CHECK: %[[BYTES:.*]] = llvm.lshr %[[BITS]], %{{.*}} : i32
  gpu.func @partial(%src: memref<?xf32>, %i: index, %count: index)
      workgroup(%dst: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]] :
    gpux.copy %src[%i], %dst[%i], 4, %count {bypass_l1} : memref<?xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Upstream takes no strided innermost dimension; a single element is addressed as a buffer of rank 0.
  // CHECK-LABEL: gpu.func @strided
  // CHECK-SAME: %[[SRC:[a-z0-9]*]]: memref<8x8xf32, strided<[1, 8]>>, %[[I:[a-z0-9]*]]: index
  gpu.func @strided(%src: memref<8x8xf32, strided<[1, 8]>>, %i: index, %j: index)
      workgroup(%dst: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    // CHECK: %[[ELEMENT:[a-z0-9]*]] = memref.subview %[[SRC]][%[[I]], %{{.*}}] [1, 1] [1, 1] : memref<8x8xf32, strided<[1, 8]>> to memref<f32, strided<[], offset: ?>>
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca
    gpux.copy %src[%i, %j], %dst[%i], 1 : memref<8x8xf32, strided<[1, 8]>> to memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Whoever marked an operation finds the mark on what it became.
  // CHECK-LABEL: gpu.func @marked
  gpu.func @marked(%src: memref<64xf32>, %i: index)
      workgroup(%dst: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = ca {my.mark = "copy"} :
    gpux.copy %src[%i], %dst[%i], 4 {my.mark = "copy"} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    // CHECK: nvvm.cp.async.commit.group {my.mark = "commit"}
    gpux.commit_group <cp_async> {my.mark = "commit"}
    // CHECK: nvvm.cp.async.wait.group 0 {my.mark = "wait"}
    gpux.wait_group <cp_async>, 0 {my.mark = "wait"}
    gpu.return
  }
}

// Counted code needs no gpu.module around it.
// CHECK-LABEL: func.func @outside
func.func @outside(%src: memref<64xf32, 1>, %dst: memref<64xf32, 3>, %i: index) {
  // CHECK: nvvm.cp.async.shared.global
  gpux.copy %src[%i], %dst[%i], 4 : memref<64xf32, 1> to memref<64xf32, 3>
  return
}
