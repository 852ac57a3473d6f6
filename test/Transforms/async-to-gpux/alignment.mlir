// The width of copies is what both addresses are known to be aligned to, in every thread and iteration.
//
// RUN: async-opt %s --async-to-gpux --canonicalize | FileCheck %s
// RUN: async-opt %s --async-to-gpux='base-alignment=4' --canonicalize | FileCheck %s --check-prefix=BASE4

!Line = memref<4096xf32, #gpu.address_space<workgroup>>
#swizzle = affine_map<(t, k) -> (t * 4 + k * 64)>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @any_element
  // CHECK-COUNT-4: gpux.copy async %{{.*}}, 1 :
  // CHECK-LABEL: gpu.func @even
  // CHECK-COUNT-2: gpux.copy async %{{.*}}, 2 :
  // BASE4-LABEL: gpu.func @even
  // BASE4-COUNT-4: gpux.copy async %{{.*}}, 1 :
  gpu.func @any_element(%in: memref<4096xf32>, %i: index) workgroup(%s: !Line) kernel {
    %v = vector.load %in[%i] : memref<4096xf32>, vector<4xf32>
    vector.store %v, %s[%i] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @even(%in: memref<4096xf32>) workgroup(%s: !Line) kernel {
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %i = arith.shli %t, %c1 : index
    %v = vector.load %in[%i] : memref<4096xf32>, vector<4xf32>
    vector.store %v, %s[%i] : !Line, vector<4xf32>
    gpu.return
  }

  // The narrower side decides.
  // CHECK-LABEL: gpu.func @one_side
  // CHECK-COUNT-2: gpux.copy async %{{.*}}, 2 :
  gpu.func @one_side(%in: memref<4096xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c6 = arith.constant 6 : index
    %v = vector.load %in[%c0] : memref<4096xf32>, vector<4xf32>
    vector.store %v, %s[%c6] : !Line, vector<4xf32>
    gpu.return
  }

  // 4 + 12 bytes are 16, though neither is.
  // CHECK-LABEL: gpu.func @constants_add_up
  // CHECK: gpux.copy async %{{.*}}, 4 {bypass_l1}
  gpu.func @constants_add_up(%in: memref<4096xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %part = memref.subview %in[1] [64] [1] : memref<4096xf32> to memref<64xf32, strided<[1], offset: 1>>
    %v = vector.load %part[%c3] : memref<64xf32, strided<[1], offset: 1>>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @arithmetic
  // CHECK-COUNT-3: gpux.copy async %{{.*}}, 4 {bypass_l1}
  gpu.func @arithmetic(%in: memref<4096xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %t = gpu.thread_id x
    scf.for %k = %c0 to %n step %c1 {
      %i = affine.apply #swizzle(%t, %k)
      %v = vector.load %in[%i] : memref<4096xf32>, vector<4xf32>
      %high = arith.divui %t, %c8 : index
      %swizzled = arith.xori %high, %t : index
      %to = arith.muli %swizzled, %c4 : index
      vector.store %v, %s[%to] : !Line, vector<4xf32>
    }
    %masked = arith.andi %t, %c12 : index
    %w = vector.load %in[%masked] : memref<4096xf32>, vector<4xf32>
    vector.store %w, %s[%masked] : !Line, vector<4xf32>
    scf.for %k = %c8 to %n step %c4 {
      %v = vector.load %in[%k] : memref<4096xf32>, vector<4xf32>
      vector.store %v, %s[%k] : !Line, vector<4xf32>
    }
    gpu.return
  }

  // What a loop starts with counts as much as its step.
  // CHECK-LABEL: gpu.func @first_iteration
  // CHECK-COUNT-2: gpux.copy async %{{.*}}, 2 :
  gpu.func @first_iteration(%in: memref<4096xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c2 to %n step %c4 {
      %v = vector.load %in[%k] : memref<4096xf32>, vector<4xf32>
      vector.store %v, %s[%k] : !Line, vector<4xf32>
    }
    gpu.return
  }

  // The first row is aligned to 16 bytes, the second is 24 bytes further on.
  // CHECK-LABEL: gpu.func @second_row
  // CHECK-COUNT-4: gpux.copy async %{{.*}}, 2 :
  gpu.func @second_row(%in: memref<64x6xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %v = vector.transfer_read %in[%c0, %c0], %z {in_bounds = [true, true]} : memref<64x6xf32>, vector<2x4xf32>
    %w = vector.shape_cast %v : vector<2x4xf32> to vector<8xf32>
    vector.store %w, %s[%c0] : !Line, vector<8xf32>
    gpu.return
  }

  // A counter that begins at 0 and grows by 8 is a multiple of 8; one that is halved need not be.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: gpux.copy async %{{.*}}, 4 {bypass_l1}
  // CHECK-LABEL: gpu.func @halved
  // CHECK-COUNT-4: gpux.copy async %{{.*}}, 1 :
  gpu.func @carried(%in: memref<4096xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %k = %c0 to %n step %c1 iter_args(%i = %c0) -> (index) {
      %v = vector.load %in[%i] : memref<4096xf32>, vector<4xf32>
      vector.store %v, %s[%i] : !Line, vector<4xf32>
      %next = arith.addi %i, %c8 : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @halved(%in: memref<4096xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c1024 = arith.constant 1024 : index
    scf.for %k = %c0 to %n step %c1 iter_args(%i = %c1024) -> (index) {
      %v = vector.load %in[%i] : memref<4096xf32>, vector<4xf32>
      vector.store %v, %s[%i] : !Line, vector<4xf32>
      %next = arith.divui %i, %c2 : index
      scf.yield %next : index
    }
    gpu.return
  }

  // Rows of unknown length begin anywhere, unless somebody says where.
  // CHECK-LABEL: gpu.func @dynamic_stride
  // CHECK-COUNT-4: gpux.copy async %{{.*}}, 1 :
  // CHECK-NOT: gpux.copy
  // CHECK-LABEL: gpu.func @assumed
  // CHECK: gpux.copy async %{{.*}}, 4 {bypass_l1}
  // BASE4-LABEL: gpu.func @assumed
  // BASE4: gpux.copy async %{{.*}}, 4 {bypass_l1}
  // CHECK-LABEL: gpu.func @stated
  // CHECK: gpux.copy async %{{.*}}, 4 {bypass_l1}
  gpu.func @dynamic_stride(%in: memref<?x?xf32>, %i: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %v = vector.load %in[%i, %c0] : memref<?x?xf32>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @assumed(%in: memref<?x?xf32>, %i: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %row = memref.subview %in[%i, 0] [1, 64] [1, 1] : memref<?x?xf32> to memref<64xf32, strided<[1], offset: ?>>
    %aligned = memref.assume_alignment %row, 16 : memref<64xf32, strided<[1], offset: ?>>
    %v = vector.load %aligned[%c4] : memref<64xf32, strided<[1], offset: ?>>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
  gpu.func @stated(%in: memref<?x?xf32>, %i: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %v = vector.load %in[%i, %c0] {alignment = 16} : memref<?x?xf32>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }

  // Nobody raises the alignment of globals in global memory.
  memref.global @table : memref<4096xf32>

  // CHECK-LABEL: gpu.func @global
  // CHECK-COUNT-4: gpux.copy async %{{.*}}, 1 :
  gpu.func @global() workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %in = memref.get_global @table : memref<4096xf32>
    %v = vector.load %in[%c0] : memref<4096xf32>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    gpu.return
  }
}
