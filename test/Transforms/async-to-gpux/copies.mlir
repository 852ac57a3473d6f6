// What a thread loads and stores becomes copies, as wide as both addresses allow.
//
// RUN: async-opt %s --async-to-gpux --canonicalize | FileCheck %s
// RUN: async-opt %s --async-to-gpux='bypass-l1=false' | FileCheck %s --check-prefix=L1

!Line = memref<512xf32, #gpu.address_space<workgroup>>
!Tile = memref<16x64xf32, #gpu.address_space<workgroup>>

// L1-NOT: bypass_l1

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @scalar
  // CHECK-NOT: memref.load
  // CHECK: %[[T:.*]] = gpux.copy async %{{[a-z0-9]+}}[%[[I:.*]]], %{{[a-z0-9]+}}[%[[I]]], 1 : memref<512xf32> to
  // CHECK-NOT: memref.store
  // CHECK: async.await %[[T]]
  // CHECK-NEXT: gpu.return
  gpu.func @scalar(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    gpu.return
  }

  // CHECK-LABEL: gpu.func @scalar_of_8_bytes
  // CHECK: gpux.copy async %{{.*}}, 1 : memref<512xf64> to
  gpu.func @scalar_of_8_bytes(%in: memref<512xf64>) workgroup(%s: memref<512xf64, 3>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf64>
    memref.store %v, %s[%t] : memref<512xf64, 3>
    gpu.return
  }

  // Only copies of 16 bytes can bypass the L1 cache.
  // CHECK-LABEL: gpu.func @vector_of_8_bytes
  // CHECK: gpux.copy async %{{.*}}, 4 : memref<512xf16, 1> to
  // CHECK-LABEL: gpu.func @vector_of_16_bytes
  // CHECK: gpux.copy async %{{.*}}, 8 {bypass_l1} : memref<512xf16, #gpu.address_space<global>> to
  gpu.func @vector_of_8_bytes(%in: memref<512xf16, 1>) workgroup(%s: memref<512xf16, 3>) kernel {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %v = vector.load %in[%i] : memref<512xf16, 1>, vector<4xf16>
    vector.store %v, %s[%i] : memref<512xf16, 3>, vector<4xf16>
    gpu.return
  }
  gpu.func @vector_of_16_bytes(%in: memref<512xf16, #gpu.address_space<global>>)
      workgroup(%s: memref<512xf16, #gpu.address_space<workgroup>>) kernel {
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c8 : index
    %v = vector.load %in[%i] : memref<512xf16, #gpu.address_space<global>>, vector<8xf16>
    vector.store %v, %s[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @two_copies
  // CHECK: %[[I:.*]] = arith.muli
  // CHECK: %[[T0:.*]] = gpux.copy async %{{[a-z0-9]+}}[%[[I]]], %{{[a-z0-9]+}}[%[[I]]], 4 {bypass_l1}
  // CHECK: %[[J:.*]] = arith.addi %[[I]], %c4
  // CHECK: %[[K:.*]] = arith.addi %[[I]], %c4
  // CHECK: %[[T1:.*]] = gpux.copy async %{{[a-z0-9]+}}[%[[J]]], %{{[a-z0-9]+}}[%[[K]]], 4 {bypass_l1}
  // CHECK: async.await %[[T0]], %[[T1]]
  gpu.func @two_copies(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c8 : index
    %v = vector.load %in[%i] : memref<512xf32>, vector<8xf32>
    vector.store %v, %s[%i] : !Line, vector<8xf32>
    gpu.return
  }

  // 12 bytes are no multiple of 8, wherever they are.
  // CHECK-LABEL: gpu.func @three_elements
  // CHECK-COUNT-3: gpux.copy async %{{.*}}, 1 : memref<512xf32>
  // CHECK-NOT: gpux.copy
  // CHECK: gpu.return
  gpu.func @three_elements(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %v = vector.load %in[%c0] : memref<512xf32>, vector<3xf32>
    vector.store %v, %s[%c0] : !Line, vector<3xf32>
    gpu.return
  }

  // Rows that lie apart in memory are read one by one, and written behind each other.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-SAME: %[[A:.*]]: memref<64x64xf32>, %[[I:.*]]: index
  // CHECK: gpux.copy async %[[A]][%[[I]], %c0], %{{.*}}[%c0], 4 {bypass_l1}
  // CHECK: %[[J:.*]] = arith.addi %[[I]], %c1
  // CHECK: gpux.copy async %[[A]][%[[J]], %c0], %{{.*}}[%c4], 4 {bypass_l1}
  gpu.func @rows(%in: memref<64x64xf32>, %i: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %v = vector.transfer_read %in[%i, %c0], %z {in_bounds = [true, true]} : memref<64x64xf32>, vector<2x4xf32>
    %w = vector.shape_cast %v : vector<2x4xf32> to vector<8xf32>
    vector.transfer_write %w, %s[%c0] : vector<8xf32>, !Line
    gpu.return
  }

  // CHECK-LABEL: gpu.func @views
  // CHECK: gpux.copy async %{{.*}}, 4 {bypass_l1} : memref<4x4xf32, strided<[64, 1], offset: ?>> to memref<4x4xf32, #gpu.address_space<workgroup>>
  gpu.func @views(%in: memref<64x64xf32>, %i: index, %t: index) kernel {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %s = memref.view %bytes[%c256][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<4x4xf32, #gpu.address_space<workgroup>>
    %from = memref.subview %in[%i, 16] [4, 4] [1, 1] : memref<64x64xf32> to memref<4x4xf32, strided<[64, 1], offset: ?>>
    %v = vector.load %from[%t, %c0] : memref<4x4xf32, strided<[64, 1], offset: ?>>, vector<4xf32>
    vector.store %v, %s[%t, %c0] : memref<4x4xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    gpu.return
  }

  // Each thread copies a part of its own: two rows of 16 bytes.
  // CHECK-LABEL: gpu.func @memref_copy
  // CHECK: gpux.copy async %[[FROM:.*]][%c0, %c0], %[[TO:.*]][%c0, %c0], 4 {bypass_l1}
  // CHECK: gpux.copy async %[[FROM]][%c1, %c0], %[[TO]][%c1, %c0], 4 {bypass_l1}
  // CHECK-NOT: memref.copy
  gpu.func @memref_copy(%in: memref<16x64xf32>) workgroup(%s: !Tile) kernel {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %from = memref.subview %in[0, %i] [2, 4] [1, 1] : memref<16x64xf32> to memref<2x4xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %s[0, %i] [2, 4] [1, 1] : !Tile to memref<2x4xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
    memref.copy %from, %to : memref<2x4xf32, strided<[64, 1], offset: ?>> to memref<2x4xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
    gpu.return
  }

  // One thread copies all of a line.
  // CHECK-LABEL: gpu.func @memref_copy_of_one_thread
  // CHECK: scf.if
  // CHECK-COUNT-2: gpux.copy async %{{.*}}, 4 {bypass_l1} : memref<8xf32> to
  gpu.func @memref_copy_of_one_thread(%in: memref<8xf32>)
      workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      memref.copy %in, %s : memref<8xf32> to memref<8xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // Bits stay what they are.
  // CHECK-LABEL: gpu.func @bitcasts
  // CHECK: gpux.copy
  // CHECK-NOT: bitcast
  gpu.func @bitcasts(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    %i = arith.bitcast %v : f32 to i32
    %f = arith.bitcast %i : i32 to f32
    memref.store %f, %s[%t] : !Line
    gpu.return
  }
}
