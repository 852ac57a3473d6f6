// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Accesses by addresses that are computed, or that may lead to several buffers.

!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @computed_address
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: llvm.load
  gpu.func @computed_address(%x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c252 = arith.constant 252 : index
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %bytes = arith.muli %t, %c4 : index
    %mirrored = arith.subi %c252, %bytes : index
    memref.store %x, %s[%t] : !row
    %first = memref.extract_aligned_pointer_as_index %s : !row -> index
    %sum = arith.addi %first, %mirrored : index
    %number = arith.index_cast %sum : index to i64
    %address = llvm.inttoptr %number : i64 to !llvm.ptr<3>
    %v = llvm.load %address : !llvm.ptr<3> -> f32
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // The type does not say which memory it is.
  //
  // CHECK-LABEL: gpu.func @one_of_two_buffers
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @one_of_two_buffers(%x: f32, %out: memref<64xf32>, %which: i1) workgroup(%a: !row, %b: !row, %own: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %generic_a = memref.memory_space_cast %a : !row to memref<64xf32>
    %generic_b = memref.memory_space_cast %b : !row to memref<64xf32>
    %s = arith.select %which, %generic_a, %generic_b : memref<64xf32>
    memref.store %x, %s[%t] : memref<64xf32>
    %v = memref.load %s[%mirrored] : memref<64xf32>
    // Nobody has chosen this one.
    memref.store %v, %own[%t] : !row
    %w = memref.load %own[%t] : !row
    memref.store %w, %out[%t] : memref<64xf32>
    gpu.return
  }

  // What is made of a view is in that, wherever it begins: the other view has nothing to do with it.
  //
  // CHECK-LABEL: gpu.func @inside_of_a_view
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @inside_of_a_view(%x: f32, %out: memref<64xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %bytes = memref.alloc() : memref<512xi8, #gpu.address_space<workgroup>>
    %a = memref.view %bytes[%c0][] : memref<512xi8, #gpu.address_space<workgroup>> to !row
    %b = memref.view %bytes[%c256][] : memref<512xi8, #gpu.address_space<workgroup>> to !row
    %matrix = memref.reinterpret_cast %b to offset: [0], sizes: [8, 8], strides: [8, 1]
        : !row to memref<8x8xf32, strided<[8, 1]>, #gpu.address_space<workgroup>>
    memref.store %x, %a[%t] : !row
    %v = memref.load %matrix[%c0, %c0] : memref<8x8xf32, strided<[8, 1]>, #gpu.address_space<workgroup>>
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }

  // An index has 8 bytes.
  //
  // CHECK-LABEL: gpu.func @indices
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @indices(%out: memref<64xindex>) workgroup(%s: memref<64xindex, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    memref.store %t, %s[%t] : memref<64xindex, #gpu.address_space<workgroup>>
    %v = memref.load %s[%t] : memref<64xindex, #gpu.address_space<workgroup>>
    memref.store %v, %out[%t] : memref<64xindex>
    gpu.return
  }
}
