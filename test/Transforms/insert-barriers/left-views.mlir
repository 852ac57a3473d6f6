// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// A view that is left: what is made of it may be anywhere in its buffer, not just in the view.

!buf = memref<1024xi8, #gpu.address_space<workgroup>>
!row = memref<128xf32, #gpu.address_space<workgroup>>
!at_128 = memref<128xf32, strided<[1], offset: 128>, #gpu.address_space<workgroup>>
!somewhere = memref<128xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!one = memref<f32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The cast of the first view shows the second one.
  //
  // CHECK-LABEL: gpu.func @cast_to_the_next_view
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @cast_to_the_next_view(%x: f32, %out: memref<128xf32>) workgroup(%buf: !buf) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c127 = arith.constant 127 : index
    %c512 = arith.constant 512 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %a = memref.view %buf[%c0][] : !buf to !row
    %b = memref.view %buf[%c512][] : !buf to !row
    %cast = memref.reinterpret_cast %a to offset: [128], sizes: [128], strides: [1] : !row to !at_128
    memref.store %x, %cast[%t] : !at_128
    %y = memref.load %b[%mirrored] : !row
    memref.store %y, %out[%t] : memref<128xf32>
    gpu.return
  }

  // How far it goes is known, so it is also known what it does not show.
  //
  // CHECK-LABEL: gpu.func @cast_beyond_the_first_view
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @cast_beyond_the_first_view(%x: f32, %out: memref<128xf32>) workgroup(%buf: !buf) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c127 = arith.constant 127 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %a = memref.view %buf[%c0][] : !buf to !row
    %cast = memref.reinterpret_cast %a to offset: [128], sizes: [128], strides: [1] : !row to !at_128
    memref.store %x, %cast[%t] : !at_128
    %y = memref.load %a[%mirrored] : !row
    memref.store %y, %out[%t] : memref<128xf32>
    gpu.return
  }

  // It counts from where the memory of a subview begins, which is not where the subview does.
  //
  // CHECK-LABEL: gpu.func @cast_of_a_subview
  // CHECK: memref.store
  // CHECK-NOT: gpu.barrier
  // CHECK: memref.load
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @cast_of_a_subview(%x: f32, %out: memref<128xf32>) workgroup(%s: memref<2x128xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %second = memref.subview %s[1, 0] [1, 128] [1, 1] : memref<2x128xf32, #gpu.address_space<workgroup>> to !at_128
    %first = memref.reinterpret_cast %second to offset: [0], sizes: [128], strides: [1] : !at_128 to !row
    memref.store %x, %first[%t] : !row
    %y = memref.load %s[%c1, %mirrored] : memref<2x128xf32, #gpu.address_space<workgroup>>
    %z = memref.load %s[%c0, %mirrored] : memref<2x128xf32, #gpu.address_space<workgroup>>
    %sum = arith.addf %y, %z : f32
    memref.store %sum, %out[%t] : memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @cast_to_somewhere
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @cast_to_somewhere(%x: f32, %out: memref<128xf32>, %offset: memref<1xindex>) workgroup(%buf: !buf) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %t = gpu.thread_id x
    %a = memref.view %buf[%c0][] : !buf to !row
    %b = memref.view %buf[%c512][] : !buf to !row
    %n = memref.load %offset[%c0] : memref<1xindex>
    %cast = memref.reinterpret_cast %a to offset: [%n], sizes: [128], strides: [1] : !row to !somewhere
    memref.store %x, %cast[%t] : !somewhere
    %y = memref.load %b[%t] : !row
    memref.store %y, %out[%t] : memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @metadata_of_a_view
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @metadata_of_a_view(%x: f32, %out: memref<128xf32>) workgroup(%buf: !buf) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c127 = arith.constant 127 : index
    %c512 = arith.constant 512 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %a = memref.view %buf[%c0][] : !buf to !row
    %b = memref.view %buf[%c512][] : !buf to !row
    %start, %offset, %size, %stride = memref.extract_strided_metadata %a : !row -> !one, index, index, index
    %cast = memref.reinterpret_cast %start to offset: [128], sizes: [128], strides: [1] : !one to !at_128
    memref.store %x, %cast[%t] : !at_128
    %y = memref.load %b[%mirrored] : !row
    memref.store %y, %out[%t] : memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @pointer_to_a_view
  // CHECK: llvm.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @pointer_to_a_view(%x: f32, %out: memref<128xf32>) workgroup(%buf: !buf) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c127 = arith.constant 127 : index
    %c512 = arith.constant 512 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %a = memref.view %buf[%c0][] : !buf to !row
    %b = memref.view %buf[%c512][] : !buf to !row
    %number = memref.extract_aligned_pointer_as_index %a : !row -> index
    %bits = arith.index_cast %number : index to i64
    %pointer = llvm.inttoptr %bits : i64 to !llvm.ptr<3>
    %index = arith.index_cast %t : index to i64
    %second = llvm.getelementptr %pointer[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    %own = llvm.getelementptr %second[%index] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    llvm.store %x, %own : f32, !llvm.ptr<3>
    %y = memref.load %b[%mirrored] : !row
    memref.store %y, %out[%t] : memref<128xf32>
    gpu.return
  }

  // No view leads from one buffer to another.
  //
  // CHECK-LABEL: gpu.func @another_buffer
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @another_buffer(%x: f32, %out: memref<128xf32>, %offset: memref<1xindex>) workgroup(%buf: !buf, %other: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %a = memref.view %buf[%c0][] : !buf to !row
    %n = memref.load %offset[%c0] : memref<1xindex>
    %cast = memref.reinterpret_cast %a to offset: [%n], sizes: [128], strides: [1] : !row to !somewhere
    memref.store %x, %cast[%t] : !somewhere
    %y = memref.load %other[%t] : !row
    memref.store %y, %out[%t] : memref<128xf32>
    gpu.return
  }
}
