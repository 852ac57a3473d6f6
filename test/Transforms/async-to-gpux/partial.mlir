// What is not read is filled with zeros: the last operand of a copy is the number of elements that it reads.
//
// RUN: async-opt %s --async-to-gpux --canonicalize --cse | FileCheck %s

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @out_of_bounds
  // CHECK-SAME: %[[IN:.*]]: memref<?xf32>
  // CHECK: %[[I:.*]] = arith.muli
  // CHECK: %[[SIZE:.*]] = memref.dim %[[IN]], %c0
  // CHECK: %[[REST:.*]] = arith.subi %[[SIZE]], %[[I]]
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[REST]], %c0
  // CHECK: %[[COUNT:.*]] = arith.minsi %[[POSITIVE]], %c4
  // CHECK: gpux.copy async %[[IN]][%[[I]]], %{{[a-z0-9]+}}[%[[I]]], 4, %[[COUNT]] {bypass_l1}
  gpu.func @out_of_bounds(%in: memref<?xf32>) workgroup(%s: !Line) kernel {
    %c4 = arith.constant 4 : index
    %z = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %v = vector.transfer_read %in[%i], %z : memref<?xf32>, vector<4xf32>
    vector.store %v, %s[%i] : !Line, vector<4xf32>
    gpu.return
  }

  // The second copy reads what the first has left.
  // CHECK-LABEL: gpu.func @second_copy
  // CHECK-SAME: %{{.*}}: memref<512xf32>, %[[N:.*]]: index
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[N]], %c0
  // CHECK: %[[COUNT0:.*]] = arith.minsi %[[POSITIVE]], %c4
  // CHECK: gpux.copy async %{{.*}}[%c0], %{{.*}}[%c0], 4, %[[COUNT0]]
  // CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %c4
  // CHECK: %[[POSITIVE1:.*]] = arith.maxsi %[[LEFT]], %c0
  // CHECK: %[[COUNT1:.*]] = arith.minsi %[[POSITIVE1]], %c4
  // CHECK: gpux.copy async %{{.*}}[%c4], %{{.*}}[%c4], 4, %[[COUNT1]]
  gpu.func @second_copy(%in: memref<512xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %m = vector.create_mask %n : vector<8xi1>
    %v = vector.transfer_read %in[%c0], %z, %m {in_bounds = [true]} : memref<512xf32>, vector<8xf32>
    vector.store %v, %s[%c0] : !Line, vector<8xf32>
    gpu.return
  }

  // Known to be in bounds.
  // CHECK-LABEL: gpu.func @last_elements
  // CHECK: gpux.copy async %{{.*}}, 4 {bypass_l1}
  // Known to be out of bounds for the second of two copies.
  // CHECK-LABEL: gpu.func @half
  // CHECK: gpux.copy async %{{.*}}[%c4], %{{.*}}[%c0], 4 {bypass_l1}
  // CHECK: gpux.copy async %{{.*}}[%c8], %{{.*}}[%c4], 4, %c0 {bypass_l1}
  gpu.func @last_elements(%in: memref<8xf32>) workgroup(%s: !Line) kernel {
    %c4 = arith.constant 4 : index
    %x = arith.constant 1.0 : f32
    %v = vector.transfer_read %in[%c4], %x : memref<8xf32>, vector<4xf32>
    vector.store %v, %s[%c4] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @half(%in: memref<8xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %z = arith.constant 0.0 : f32
    %v = vector.transfer_read %in[%c4], %z : memref<8xf32>, vector<8xf32>
    vector.store %v, %s[%c0] : !Line, vector<8xf32>
    gpu.return
  }

  // A row is read if it is in bounds, and of it what is.
  // CHECK-LABEL: gpu.func @two_dimensions
  // CHECK-SAME: %[[IN:.*]]: memref<?x64xf32>, %[[I:.*]]: index
  // CHECK: %[[ROWS:.*]] = memref.dim %[[IN]], %c0
  // CHECK: %[[REST:.*]] = arith.subi %[[ROWS]], %[[I]]
  // CHECK: %[[FIRST:.*]] = arith.cmpi sgt, %[[REST]], %c0
  // CHECK: %[[COUNT0:.*]] = arith.select %[[FIRST]], %c4, %c0
  // CHECK: gpux.copy async %[[IN]][%[[I]], %c0], %{{.*}}[%c0], 4, %[[COUNT0]]
  // CHECK: %[[SECOND:.*]] = arith.cmpi sgt, %[[REST]], %c1
  // CHECK: %[[COUNT1:.*]] = arith.select %[[SECOND]], %c4, %c0
  // CHECK: %[[J:.*]] = arith.addi %[[I]], %c1
  // CHECK: gpux.copy async %[[IN]][%[[J]], %c0], %{{.*}}[%c4], 4, %[[COUNT1]]
  gpu.func @two_dimensions(%in: memref<?x64xf32>, %i: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %v = vector.transfer_read %in[%i, %c0], %z : memref<?x64xf32>, vector<2x4xf32>
    %w = vector.shape_cast %v : vector<2x4xf32> to vector<8xf32>
    vector.store %w, %s[%c0] : !Line, vector<8xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @masked
  // CHECK-SAME: %{{.*}}: memref<512xf32>, %[[N:.*]]: index
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[N]], %c0
  // CHECK: %[[COUNT:.*]] = arith.minsi %[[POSITIVE]], %c4
  // CHECK-COUNT-3: gpux.copy async %{{.*}}, 4, %[[COUNT]] {bypass_l1}
  // CHECK-NOT: vector.mask
  gpu.func @masked(%in: memref<512xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %z = arith.constant 0.0 : f32
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %m = vector.create_mask %n : vector<4xi1>
    %u = vector.transfer_read %in[%c0], %z, %m {in_bounds = [true]} : memref<512xf32>, vector<4xf32>
    vector.store %u, %s[%c0] : !Line, vector<4xf32>
    %v = vector.mask %m { vector.transfer_read %in[%c4], %z {in_bounds = [true]} : memref<512xf32>, vector<4xf32> } : vector<4xi1> -> vector<4xf32>
    vector.store %v, %s[%c4] : !Line, vector<4xf32>
    %w = vector.maskedload %in[%c8], %m, %zeros : memref<512xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.store %w, %s[%c8] : !Line, vector<4xf32>
    gpu.return
  }

  // Whichever is less: what is not masked off, or what is in bounds.
  // CHECK-LABEL: gpu.func @mask_and_bounds
  // CHECK-SAME: %[[IN:.*]]: memref<?xf32>, %[[N:.*]]: index
  // CHECK: %[[SIZE:.*]] = memref.dim %[[IN]], %c0
  // CHECK: %[[LEAST:.*]] = arith.minsi %[[N]], %[[SIZE]]
  // CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[LEAST]], %c0
  // CHECK: %[[COUNT:.*]] = arith.minsi %[[POSITIVE]], %c4
  // CHECK: gpux.copy async %{{.*}}, 4, %[[COUNT]]
  gpu.func @mask_and_bounds(%in: memref<?xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %m = vector.create_mask %n : vector<4xi1>
    %v = vector.transfer_read %in[%c0], %z, %m : memref<?xf32>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
}
