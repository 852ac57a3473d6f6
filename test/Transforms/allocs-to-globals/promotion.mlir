// What upstream makes when it promotes operands to workgroup memory.
//
// RUN: async-opt %s --transform-interpreter --gpux-allocs-to-globals | FileCheck %s

// CHECK: memref.global "private" @__wg_mm_alloc_0 : memref<16x16xf32, #gpu.address_space<workgroup>> = uninitialized
// CHECK-NEXT: memref.global "private" @__wg_mm_alloc_1 : memref<16x16xf32, #gpu.address_space<workgroup>> = uninitialized
// CHECK-LABEL: func.func @mm
// CHECK-NOT: memref.alloc
// CHECK: memref.get_global @__wg_mm_alloc_0
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: linalg.matmul
module attributes {transform.with_named_sequence} {
gpu.module @m {
  func.func @mm(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %C: memref<64x64xf32>) attributes {gpu.kernel} {
    linalg.matmul ins(%A, %B : memref<64x64xf32>, memref<64x64xf32>) outs(%C : memref<64x64xf32>)
    return
  }
}
transform.named_sequence @__transform_main(%root: !transform.any_op) {
  %0 = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %t, %l:3 = transform.structured.tile_using_for %0 tile_sizes [16, 16, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  %p = transform.structured.promote %t { operands_to_promote = [0, 1], mapping = [#gpu.memory_space<workgroup>], use_full_tiles_by_default } : (!transform.any_op) -> !transform.any_op
  transform.yield
}
}
