// RUN: async-opt %s --transform-interpreter 2>/dev/null | FileCheck %s

// Upstream's transforms and ours in one script. The product of a loop becomes mma.sync, and the loop is pipelined; the copies of another
// loop become asynchronous by upstream's transform, and those of a third kernel TMA loads.

!A = memref<16x16xf16, #gpu.address_space<workgroup>>
!B = memref<16x8xf16, #gpu.address_space<workgroup>>
!Sums = memref<16x8xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @product
// CHECK:         scf.for
// CHECK:           async.await
// CHECK-NEXT:      gpu.barrier
// CHECK:           gpux.copy async
// CHECK-NOT:       linalg.matmul
// CHECK:           nvgpu.mma.sync
// CHECK:           scf.yield
// CHECK-LABEL: gpu.func @groups
// CHECK:         scf.for
// CHECK:           nvgpu.device_async_copy
// CHECK:           nvgpu.device_async_create_group
// CHECK:           nvgpu.device_async_wait
// CHECK-NOT:     async.await
// CHECK-LABEL: func.func @tiles
// CHECK:         nvgpu.tma.async.load
module attributes {transform.with_named_sequence} {
  gpu.module @m {
    gpu.func @product(%in: memref<?x16xf16>, %b: !B, %sums: !Sums, %n: index) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.0 : f16
      %t = gpu.thread_id x
      %row = arith.divui %t, %c2 : index
      %half = arith.remui %t, %c2 : index
      %col = arith.muli %half, %c8 : index
      %a = memref.alloc() : !A
      scf.for %k = %c0 to %n step %c16 {
        %from = arith.addi %k, %row : index
        %x = vector.transfer_read %in[%from, %col], %zero {in_bounds = [true]} : memref<?x16xf16>, vector<8xf16>
        vector.transfer_write %x, %a[%row, %col] {in_bounds = [true]} : vector<8xf16>, !A
        gpu.barrier
        linalg.matmul ins(%a, %b : !A, !B) outs(%sums : !Sums)
        gpu.barrier
      } {to_be_pipelined}
      gpu.return
    }

    gpu.func @groups(%in: memref<?x16xf16>, %out: memref<?x16xf16>, %n: index) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f16
      %t = gpu.thread_id x
      %a = memref.alloc() : !A
      scf.for %k = %c0 to %n step %c1 {
        %x = vector.transfer_read %in[%k, %c0], %zero {in_bounds = [true]} : memref<?x16xf16>, vector<8xf16>
        vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true]} : vector<8xf16>, !A
      } {upstream}
      gpu.return
    }
  }

  func.func @tiles(%in: memref<64x32xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch blocks(%b0, %b1, %b2) in (%g0 = %c1, %g1 = %c1, %g2 = %c1)
        threads(%t0, %t1, %t2) in (%s0 = %c1, %s1 = %c1, %s2 = %c1) {
      %tile = memref.get_global @tile : memref<64x32xf32, #gpu.address_space<workgroup>>
      linalg.copy ins(%in : memref<64x32xf32>) outs(%tile : memref<64x32xf32, #gpu.address_space<workgroup>>)
      gpu.terminator
    }
    return
  }
  memref.global "private" @tile : memref<64x32xf32, #gpu.address_space<workgroup>>

  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.nvgpu.rewrite_matmul_as_mma_sync %matmul : (!transform.any_op) -> ()
    // Barriers are derived from what arith computes.
    %kernels = transform.structured.match ops{["gpu.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_registered_pass "lower-affine" to %kernels : (!transform.any_op) -> !transform.any_op
    %ours = transform.structured.match ops{["scf.for"]} attributes {to_be_pipelined} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.async.pipeline %ours {num_stages = 3} : (!transform.any_op) -> !transform.any_op

    %upstream = transform.structured.match ops{["scf.for"]} attributes {upstream} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.nvgpu.create_async_groups %upstream {bypass_l1} : (!transform.any_op) -> !transform.any_op

    %tile = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.nvgpu.rewrite_copy_as_tma %tile : (!transform.any_op) -> ()
    transform.yield
  }
}
