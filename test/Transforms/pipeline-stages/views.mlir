// Views of a buffer from outside of the loop and from inside, one of them transposed, and a swizzled address.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Half = memref<4x4xi32, strided<[4, 1]>, #gpu.address_space<workgroup>>
!Lower = memref<4x4xi32, strided<[4, 1], offset: 16>, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 2 transfers in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @views
// CHECK:       memref.alloc() {{.*}}: memref<384xi8
// CHECK:       scf.for
// CHECK:         memref.subview %{{.*}}[0, 0] [4, 4] [1, 1]
// CHECK:         gpux.copy async
// CHECK:         memref.transpose
gpu.module @m {
  gpu.func @views(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %t = gpu.thread_id x
    %c4 = arith.constant 4 : index
    %s = memref.alloc() : memref<8x4xi32, #gpu.address_space<workgroup>>
    %upper = memref.subview %s[0, 0] [4, 4] [1, 1] : memref<8x4xi32, #gpu.address_space<workgroup>> to !Half
    %row = arith.divui %t, %c4 : index
    %column = arith.remui %t, %c4 : index
    %swizzled = arith.xori %row, %column : index
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %copy = gpux.copy async %a[%at], %upper[%row, %swizzled], 1 : memref<?xi32> to !Half
      %lower = memref.subview %s[4, 0] [4, 4] [1, 1] : memref<8x4xi32, #gpu.address_space<workgroup>> to !Lower
      %other = gpux.copy async %a[%at], %lower[%row, %column], 1 : memref<?xi32> to !Lower
      async.await %copy, %other
      %transposed = memref.transpose %upper (i, j) -> (j, i) : !Half to memref<4x4xi32, strided<[1, 4]>, #gpu.address_space<workgroup>>
      %x = memref.load %transposed[%row, %column] : memref<4x4xi32, strided<[1, 4]>, #gpu.address_space<workgroup>>
      %y = memref.load %lower[%column, %row] : !Lower
      %sum = arith.addi %x, %y : i32
      memref.store %sum, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
