// The layout of a frame is in numbers: it is the same in each data layout that LLVM may be given, and has room for what the largest takes.

// RUN: async-opt %s --split-input-file --async-to-runtime | FileCheck %s

// An i64, whose alignment is 4 in the default layout, is at a multiple of 8, as on the machine; an i128 of 16, as vectors of 16 bytes.
// CHECK-LABEL: llvm.mlir.global internal constant @scalars_type
// CHECK:         llvm.mlir.constant(64 : i64) : i64
// CHECK-NEXT:    llvm.insertvalue {{.*}}[3]
// CHECK-NEXT:    llvm.mlir.constant(16 : i64) : i64
// CHECK-NEXT:    llvm.insertvalue {{.*}}[4]

// CHECK-LABEL: llvm.func internal @scalars(
// CHECK:         llvm.getelementptr %{{.*}}[0] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[8] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[32] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[48] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[50] : (!llvm.ptr) -> !llvm.ptr, i8
func.func private @scalars(%a: i32, %b: index, %c: i1, %d: i96, %e: i16, %f: vector<3xi1>) {
  return
}

func.func @main(%a: i32, %b: index, %c: i1, %d: i96, %e: i16, %f: vector<3xi1>) {
  %t = async.region {
    func.call @scalars(%a, %b, %c, %d, %e, %f) : (i32, index, i1, i96, i16, vector<3xi1>) -> ()
    async.yield
  }
  async.await %t
  return
}

// -----

// A descriptor is a pointer, a pointer, and numbers of 64 bits; a vector of 20 bytes is at a multiple of 32, and takes as much.
// CHECK-LABEL: llvm.func internal @aggregates(
// CHECK:         llvm.getelementptr %{{.*}}[0] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[8] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[64] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[96] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.getelementptr %{{.*}}[112] : (!llvm.ptr) -> !llvm.ptr, i8
func.func private @aggregates(%a: i8, %b: memref<?xi32>, %c: vector<5xf32>, %d: complex<f64>, %e: vector<2x3xf16>) {
  return
}

func.func @main(%a: i8, %b: memref<?xi32>, %c: vector<5xf32>, %d: complex<f64>, %e: vector<2x3xf16>) {
  %t = async.region {
    func.call @aggregates(%a, %b, %c, %d, %e) : (i8, memref<?xi32>, vector<5xf32>, complex<f64>, vector<2x3xf16>) -> ()
    async.yield
  }
  async.await %t
  return
}
