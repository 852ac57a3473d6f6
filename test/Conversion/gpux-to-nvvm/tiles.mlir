// Tiles become nvgpu's, whose coordinates are innermost first. A memref of several boxes is cut into them.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-to-nvvm | FileCheck %s

!tile = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!swizzled = !nvgpu.tensormap.descriptor<tensor = memref<1x32x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!ring = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
!shared = memref<64x32xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: func.func @one_box
// CHECK-SAME: %[[TENSOR:[^:]*]]: !nvgpu{{.*}}, %[[MEMREF:[^:]*]]: memref{{.*}}, %[[I:[^:]*]]: index, %[[J:[^:]*]]: index, %[[RING:[^:]*]]: !nvgpu{{.*}}, %[[SLOT:[^:]*]]: index
// CHECK-NEXT: nvgpu.tma.async.load %[[TENSOR]][%[[J]], %[[I]]], %[[RING]][%[[SLOT]]] to %[[MEMREF]] {mark}
// CHECK-NEXT: nvgpu.tma.async.store %[[MEMREF]] to %[[TENSOR]][%[[J]], %[[I]]] {mark}
// CHECK-NEXT: return
func.func @one_box(%tensor: !tile, %a: !shared, %i: index, %j: index, %ring: !ring, %slot: index) {
  gpux.tma_load %tensor[%i, %j], %a, %ring[%slot] {mark} : !tile, !shared, !ring
  gpux.tma_store %a, %tensor[%i, %j] {mark} : !shared, !tile
  return
}

// CHECK-LABEL: func.func @boxes
// CHECK-SAME: %[[TENSOR:[^:]*]]: !nvgpu{{.*}}, %[[MEMREF:[^:]*]]: memref<192x32xf16, 3>, %[[I:[^:]*]]: index, %[[J:[^:]*]]: index
// CHECK: %[[BOX0:.*]] = memref.subview %[[MEMREF]][0, 0] [64, 32] [1, 1] : memref<192x32xf16, 3> to memref<64x32xf16, strided<[32, 1]>, 3>
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[I1:.*]] = arith.addi %[[I]], %[[C64]] : index
// CHECK: %[[BOX1:.*]] = memref.subview %[[MEMREF]][64, 0] [64, 32] [1, 1] : memref<192x32xf16, 3> to memref<64x32xf16, strided<[32, 1], offset: 2048>, 3>
// CHECK: %[[C128:.*]] = arith.constant 128 : index
// CHECK: %[[I2:.*]] = arith.addi %[[I]], %[[C128]] : index
// CHECK: %[[BOX2:.*]] = memref.subview %[[MEMREF]][128, 0] [64, 32] [1, 1]
// CHECK: nvgpu.tma.async.store %[[BOX0]] to %[[TENSOR]][%[[J]], %[[I]]]
// CHECK: nvgpu.tma.async.store %[[BOX1]] to %[[TENSOR]][%[[J]], %[[I1]]]
// CHECK: nvgpu.tma.async.store %[[BOX2]] to %[[TENSOR]][%[[J]], %[[I2]]]
// CHECK-NEXT: return
func.func @boxes(%tensor: !tile, %a: memref<192x32xf16, 3>, %i: index, %j: index) {
  gpux.tma_store %a, %tensor[%i, %j] : memref<192x32xf16, 3>, !tile
  return
}

// Dimensions of 1 don't count; the offset is one that only the running program knows.
// CHECK-LABEL: func.func @boxes_of_a_slot
// CHECK-SAME: %[[TENSOR:[^:]*]]: !nvgpu{{.*}}, %[[MEMREF:[^:]*]]: memref<1x64x64xf16, {{.*}}>, %[[I:[^:]*]]: index
// CHECK: memref.subview %[[MEMREF]][0, 0, 0] [1, 32, 64] [1, 1, 1] : {{.*}} to memref<1x32x64xf16, strided<[4096, 64, 1], offset: ?>, 3>
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: memref.subview %[[MEMREF]][0, 32, 0] [1, 32, 64] [1, 1, 1] : {{.*}} to memref<1x32x64xf16, strided<[4096, 64, 1], offset: ?>, 3>
// CHECK: nvgpu.tma.async.load %[[TENSOR]][%[[I]], %[[I]], %[[I]]]
// CHECK: nvgpu.tma.async.load %[[TENSOR]][%[[I]], %[[NEXT]], %[[I]]]
func.func @boxes_of_a_slot(%tensor: !swizzled, %a: memref<1x64x64xf16, strided<[4096, 64, 1], offset: ?>, 3>, %i: index, %ring: !ring) {
  gpux.tma_load %tensor[%i, %i, %i], %a, %ring[%i] : !swizzled, memref<1x64x64xf16, strided<[4096, 64, 1], offset: ?>, 3>, !ring
  return
}

// The kernel takes a pointer for the descriptor, and so it is launched with one. Tiles are aligned.
// CHECK-LABEL: gpu.func @kernel
// CHECK-SAME: (%[[PTR:.*]]: !llvm.ptr, %{{.*}}: index)
// CHECK-SAME: {llvm.align = 128 : i64}, %{{.*}} {llvm.align = 1024 : i64}
// CHECK: %[[TENSOR:.*]] = builtin.unrealized_conversion_cast %[[PTR]] : !llvm.ptr to !nvgpu.tensormap.descriptor
// CHECK: nvgpu.tma.async.store %{{.*}} to %[[TENSOR]]
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[DESCRIPTOR:[^:]*]]: !nvgpu
// CHECK: %[[PTR:.*]] = builtin.unrealized_conversion_cast %[[DESCRIPTOR]] : !nvgpu.tensormap.descriptor<{{.*}}> to !llvm.ptr
// CHECK: gpu.launch_func @kernels::@kernel {{.*}} args(%[[PTR]] : !llvm.ptr
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @kernel(%tensor: !tile, %i: index) workgroup(%a: !shared, %b: memref<1x32x64xf16, 3>) kernel {
      %swizzled = "test.get"() : () -> !swizzled
      gpux.tma_store %a, %tensor[%i, %i] : !shared, !tile
      gpux.tma_store %b, %swizzled[%i, %i, %i] : memref<1x32x64xf16, 3>, !swizzled
      gpu.return
    }
  }
  func.func @host(%tensor: !tile, %n: index) {
    gpu.launch_func @kernels::@kernel blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%tensor : !tile, %n : index)
    return
  }
}
