// RUN: async-opt %s --gpux-insert-barriers | FileCheck %s

// Integers have so many bits: what does not fit is cut off, and a bit that is set is -1 where it has a sign.

!row = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The condition is that of the first 32 threads, in other words: others read what they have written.
  //
  // CHECK-LABEL: gpu.func @condition_compared_with_true
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  gpu.func @condition_compared_with_true(%x: f32, %out: memref<512xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %c63 = arith.constant 63 : index
    %true = arith.constant true
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %low = arith.cmpi ult, %t, %c32 : index
    %same = arith.cmpi eq, %low, %true : i1
    scf.if %same {
      memref.store %x, %s[%t] : !row
    }
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<512xf32>
    gpu.return
  }

  // As a number with a sign, the condition is -1 or 0: threads below 32 write.
  //
  // CHECK-LABEL: gpu.func @condition_with_a_sign
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  gpu.func @condition_with_a_sign(%x: f32, %out: memref<512xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c32 = arith.constant 32 : index
    %c63 = arith.constant 63 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %low = arith.cmpi ult, %t, %c32 : index
    %number = arith.extsi %low : i1 to i32
    %same = arith.cmpi slt, %number, %zero : i32
    scf.if %same {
      memref.store %x, %s[%t] : !row
    }
    %v = memref.load %s[%mirrored] : !row
    memref.store %v, %out[%t] : memref<512xf32>
    gpu.return
  }

  // The last 256 threads read what the first have written.
  //
  // CHECK-LABEL: gpu.func @cut_off_by_a_cast
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @cut_off_by_a_cast(%x: f32, %out: memref<512xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 512, 1, 1>} {
    %t = gpu.thread_id x
    %byte = arith.index_cast %t : index to i8
    %low = arith.index_castui %byte : i8 to index
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%low] : !row
    memref.store %v, %out[%t] : memref<512xf32>
    gpu.return
  }

  // Two bits of the number are shifted out.
  //
  // CHECK-LABEL: gpu.func @shifted_out
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @shifted_out(%x: f32, %out: memref<512xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c30 = arith.constant 30 : i32
    %t = gpu.thread_id x
    %number = arith.index_cast %t : index to i32
    %high = arith.shli %number, %c30 : i32
    %low = arith.shrui %high, %c30 : i32
    %at = arith.index_cast %low : i32 to index
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%at] : !row
    memref.store %v, %out[%t] : memref<512xf32>
    gpu.return
  }

  // What fits is what it is.
  //
  // CHECK-LABEL: gpu.func @what_fits
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @what_fits(%x: f32, %out: memref<512xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %byte = arith.index_cast %t : index to i8
    %low = arith.extui %byte : i8 to i32
    %at = arith.index_cast %low : i32 to index
    memref.store %x, %s[%t] : !row
    %v = memref.load %s[%at] : !row
    memref.store %v, %out[%t] : memref<512xf32>
    gpu.return
  }
}
