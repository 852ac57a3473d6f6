// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Which accesses conflict: those of different threads to the same byte, of which one writes.

!row = memref<128xf32, #gpu.address_space<workgroup>>
!tile = memref<2x128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @own_elements
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @own_elements(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    memref.store %x, %s[%t] : !row
    gpu.barrier
    %v = memref.load %s[%t] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @neighbors
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @neighbors(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    gpu.return
  }

  // A permutation by bits, as swizzles are: each thread reads where it has written.
  //
  // CHECK-LABEL: gpu.func @swizzle
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @swizzle(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c8 = arith.constant 8 : index
    %c7 = arith.constant 7 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %row = arith.divui %t, %c8 : index
    %low = arith.andi %row, %c7 : index
    %at = arith.xori %t, %low : index
    memref.store %x, %s[%at] : !row
    %v = memref.load %s[%at] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    gpu.return
  }

  // Other halves of the buffer, by views and by constants.
  //
  // CHECK-LABEL: gpu.func @other_rows
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @other_rows(%out: memref<128xf32>) workgroup(%s: !tile) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c127 = arith.constant 127 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %second = memref.subview %s[1, 0] [1, 128] [1, 1] : !tile to memref<128xf32, strided<[1], offset: 128>, #gpu.address_space<workgroup>>
    memref.store %x, %s[%c0, %t] : !tile
    %v = memref.load %second[%mirrored] : memref<128xf32, strided<[1], offset: 128>, #gpu.address_space<workgroup>>
    memref.store %v, %out[%t] : memref<128xf32>
    gpu.return
  }

  // Two updates that can't come between each other, and a read that others have to come before.
  //
  // CHECK-LABEL: gpu.func @atomics
  // CHECK: memref.atomic_rmw
  // CHECK-NEXT: memref.atomic_rmw
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @atomics(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %a = memref.atomic_rmw addf %x, %s[%c0] : (f32, !row) -> f32
    %b = memref.atomic_rmw addf %x, %s[%c0] : (f32, !row) -> f32
    %v = memref.load %s[%c0] : !row
    memref.store %v, %out[%t] : memref<128xf32>
    gpu.return
  }

  // Only thread 0 comes by.
  //
  // CHECK-LABEL: gpu.func @one_thread
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @one_thread(%out: memref<128xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      memref.store %x, %s[%c0] : !row
    }
    scf.if %first {
      %v = memref.load %s[%c0] : !row
      memref.store %v, %out[%t] : memref<128xf32>
    }
    gpu.return
  }

  // A call may access what is known outside; what nobody else knows, it can't.
  //
  // CHECK-LABEL: gpu.func @calls
  // CHECK: memref.store
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: func.call @use
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  func.func private @use(!row)
  gpu.func @calls(%out: memref<128xf32>) workgroup(%known: !row, %own: !row) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    memref.store %x, %own[%t] : !row
    memref.store %x, %known[%t] : !row
    func.call @use(%known) : (!row) -> ()
    %v = memref.load %own[%t] : !row
    %w = memref.load %known[%t] : !row
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %out[%t] : memref<128xf32>
    gpu.return
  }

  // A warp stores what it loads together.
  //
  // CHECK-LABEL: gpu.func @matrices
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: nvgpu.ldmatrix
  gpu.func @matrices() workgroup(%s: memref<8x8xf16, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %x = arith.constant 1.0 : f16
    %t = gpu.thread_id x
    %row = arith.remui %t, %c8 : index
    memref.store %x, %s[%row, %c0] : memref<8x8xf16, #gpu.address_space<workgroup>>
    %m = nvgpu.ldmatrix %s[%row, %c0] {numTiles = 1 : i32, transpose = false}
        : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
    gpu.return
  }
}
