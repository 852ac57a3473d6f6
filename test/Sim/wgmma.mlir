// What nvvm.wgmma.mma_async computes, of operands that lie in workgroup memory when the kernel starts.
//
// RUN: async-sim %s --kernel=plain --block=128 --arg 0=random --arg 1=random | FileCheck %s --check-prefix=PLAIN
// RUN: async-sim %s --kernel=rows_of_b --block=128 --arg 0=random --arg 1=random | FileCheck %s --check-prefix=ROWS
// RUN: async-sim %s --kernel=halves --block=128 --arg 0=random --arg 1=random | FileCheck %s --check-prefix=HALVES
// RUN: async-sim %s --kernel=integers --block=128 --arg 2=zero --print | FileCheck %s --check-prefix=INTEGERS
// RUN: async-sim %s --kernel=eight_bits --block=128 --arg 2=zero --print | FileCheck %s --check-prefix=BITS

!a = memref<2x64x8xf16, 3>
!b = memref<2x8x8xf16, 3>
!d = !llvm.struct<(f32, f32, f32, f32)>
!half = !llvm.struct<(i32, i32)>
!int = !llvm.struct<(i32, i32, i32, i32)>

// Chunks of 16 bytes: the two halves of K, of 8 numbers each, one after the other. The leading dimension byte offset is what lies
// between them, and 8 rows take 128 bytes.
func.func private @descriptor(%start: index, %leading: i64, %stride: i64) -> i64 {
  %c4 = arith.constant 4 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %address = arith.index_cast %start : index to i64
  %encoded = arith.shrui %address, %c4 : i64
  %l = arith.shrui %leading, %c4 : i64
  %s = arith.shrui %stride, %c4 : i64
  %ls = arith.shli %l, %c16 : i64
  %ss = arith.shli %s, %c32 : i64
  %0 = arith.ori %encoded, %ls : i64
  %1 = arith.ori %0, %ss : i64
  return %1 : i64
}

func.func private @factors(%a: !a, %b: !b) -> (i64, i64) {
  %c128 = arith.constant 128 : i64
  %c1024 = arith.constant 1024 : i64
  %pa = memref.extract_aligned_pointer_as_index %a : !a -> index
  %pb = memref.extract_aligned_pointer_as_index %b : !b -> index
  %da = func.call @descriptor(%pa, %c1024, %c128) : (index, i64, i64) -> i64
  %db = func.call @descriptor(%pb, %c128, %c128) : (index, i64, i64) -> i64
  return %da, %db : i64, i64
}

// Where a thread's first number is; the second is right of it, and the third and fourth 8 rows below these.
func.func private @place() -> (index, index) {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %t = gpu.thread_id x
  %warp = arith.divui %t, %c32 : index
  %lane = arith.remui %t, %c32 : index
  %group = arith.divui %lane, %c4 : index
  %within = arith.remui %lane, %c4 : index
  %first = arith.muli %warp, %c16 : index
  %row = arith.addi %first, %group : index
  %column = arith.muli %within, %c2 : index
  return %row, %column : index, index
}

// The product of a row of A and a column of B, number by number.
func.func private @dot(%a: !a, %b: !b, %row: index, %column: index, %of_rows: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> f32 {
    %half = arith.divui %k, %c8 : index
    %in_half = arith.remui %k, %c8 : index
    %x = memref.load %a[%half, %row, %in_half] : !a
    %y = scf.if %of_rows -> f16 {
      %y = memref.load %b[%half, %in_half, %column] : !b
      scf.yield %y : f16
    } else {
      %y = memref.load %b[%half, %column, %in_half] : !b
      scf.yield %y : f16
    }
    %x32 = arith.extf %x : f16 to f32
    %y32 = arith.extf %y : f16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %next = arith.addf %sum, %xy : f32
    scf.yield %next : f32
  }
  return %sum : f32
}

func.func private @expect(%a: !a, %b: !b, %of_rows: i1, %d0: f32, %d1: f32, %d2: f32, %d3: f32) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %row, %column = func.call @place() : () -> (index, index)
  %below = arith.addi %row, %c8 : index
  %right = arith.addi %column, %c1 : index
  %e0 = func.call @dot(%a, %b, %row, %column, %of_rows) : (!a, !b, index, index, i1) -> f32
  %e1 = func.call @dot(%a, %b, %row, %right, %of_rows) : (!a, !b, index, index, i1) -> f32
  %e2 = func.call @dot(%a, %b, %below, %column, %of_rows) : (!a, !b, index, index, i1) -> f32
  %e3 = func.call @dot(%a, %b, %below, %right, %of_rows) : (!a, !b, index, index, i1) -> f32
  %0 = arith.cmpf oeq, %d0, %e0 : f32
  %1 = arith.cmpf oeq, %d1, %e1 : f32
  %2 = arith.cmpf oeq, %d2, %e2 : f32
  %3 = arith.cmpf oeq, %d3, %e3 : f32
  cf.assert %0, "first number"
  cf.assert %1, "second number"
  cf.assert %2, "third number"
  cf.assert %3, "fourth number"
  return
}

// PLAIN: plain: clean
func.func @plain(%a: !a, %b: !b) {
  %columns = arith.constant false
  %da, %db = func.call @factors(%a, %b) : (!a, !b) -> (i64, i64)
  %zero = llvm.mlir.zero : !d
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %da, %db, %zero, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !d -> !d
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %d0 = llvm.extractvalue %d[0] : !d
  %d1 = llvm.extractvalue %d[1] : !d
  %d2 = llvm.extractvalue %d[2] : !d
  %d3 = llvm.extractvalue %d[3] : !d
  func.call @expect(%a, %b, %columns, %d0, %d1, %d2, %d3) : (!a, !b, i1, f32, f32, f32, f32) -> ()
  return
}

// B in rows of 8 columns, 8 rows of K after the other 8. It is subtracted twice and added once; the first of them does not add to
// what is there.
// ROWS: rows_of_b: clean
func.func @rows_of_b(%a: !a, %b: !b) {
  %rows = arith.constant true
  %minus = arith.constant -1.0 : f32
  %da, %db = func.call @factors(%a, %b) : (!a, !b) -> (i64, i64)
  %any = llvm.mlir.undef : !d
  nvvm.wgmma.fence.aligned
  %0 = nvvm.wgmma.mma_async %da, %db, %any, <m = 64, n = 8, k = 16>, D [<f32>, <zero>], A [<f16>, <neg>, <row>], B [<f16>, <one>, <row>] : !d -> !d
  %1 = nvvm.wgmma.mma_async %da, %db, %0, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <neg>, <row>] : !d -> !d
  %2 = nvvm.wgmma.mma_async %da, %db, %1, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <neg>, <row>], B [<f16>, <neg>, <row>] : !d -> !d
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %d0 = llvm.extractvalue %2[0] : !d
  %d1 = llvm.extractvalue %2[1] : !d
  %d2 = llvm.extractvalue %2[2] : !d
  %d3 = llvm.extractvalue %2[3] : !d
  %n0 = arith.mulf %d0, %minus : f32
  %n1 = arith.mulf %d1, %minus : f32
  %n2 = arith.mulf %d2, %minus : f32
  %n3 = arith.mulf %d3, %minus : f32
  func.call @expect(%a, %b, %rows, %n0, %n1, %n2, %n3) : (!a, !b, i1, f32, f32, f32, f32) -> ()
  return
}

// Two numbers of 16 bits in a register.
// HALVES: halves: clean
func.func @halves(%a: !a, %b: !b) {
  %columns = arith.constant false
  %da, %db = func.call @factors(%a, %b) : (!a, !b) -> (i64, i64)
  %zero = llvm.mlir.zero : !half
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %da, %db, %zero, <m = 64, n = 8, k = 16>, D [<f16>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !half -> !half
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %upper = llvm.extractvalue %d[0] : !half
  %lower = llvm.extractvalue %d[1] : !half
  %01 = llvm.bitcast %upper : i32 to vector<2xf16>
  %23 = llvm.bitcast %lower : i32 to vector<2xf16>
  %v01 = arith.extf %01 : vector<2xf16> to vector<2xf32>
  %v23 = arith.extf %23 : vector<2xf16> to vector<2xf32>
  %d0 = vector.extract %v01[0] : f32 from vector<2xf32>
  %d1 = vector.extract %v01[1] : f32 from vector<2xf32>
  %d2 = vector.extract %v23[0] : f32 from vector<2xf32>
  %d3 = vector.extract %v23[1] : f32 from vector<2xf32>
  func.call @expect(%a, %b, %columns, %d0, %d1, %d2, %d3) : (!a, !b, i1, f32, f32, f32, f32) -> ()
  return
}

// 0xFF is 255 in A and -1 in B: 32 products of them, added to the smallest number.
// INTEGERS: integers: clean
// INTEGERS: argument 2: -2147483648 2147475488
func.func @integers(%a: !a, %b: !b, %out: memref<128x2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %ones = arith.constant dense<-1> : vector<8xi16>
  %halves = vector.bitcast %ones : vector<8xi16> to vector<8xf16>
  %t = gpu.thread_id x
  %c64 = arith.constant 64 : index
  %half = arith.divui %t, %c64 : index
  %row = arith.remui %t, %c64 : index
  vector.store %halves, %a[%half, %row, %c0] : !a, vector<8xf16>
  %small = arith.remui %t, %c8 : index
  %first = arith.cmpi ult, %t, %c8 : index
  scf.if %first {
    vector.store %halves, %b[%c0, %small, %c0] : !b, vector<8xf16>
    vector.store %halves, %b[%c1, %small, %c0] : !b, vector<8xf16>
  }
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  gpu.barrier
  %da, %db = func.call @factors(%a, %b) : (!a, !b) -> (i64, i64)
  %least = llvm.mlir.constant(-2147483648 : i32) : i32
  %any = llvm.mlir.undef : !int
  %i0 = llvm.insertvalue %least, %any[0] : !int
  %i1 = llvm.insertvalue %least, %i0[1] : !int
  %i2 = llvm.insertvalue %least, %i1[2] : !int
  %i3 = llvm.insertvalue %least, %i2[3] : !int
  nvvm.wgmma.fence.aligned
  %s = nvvm.wgmma.mma_async %da, %db, %i3, <m = 64, n = 8, k = 32>, D [<s32>, <one>, <satfinite>], A [<u8>, <one>, <row>], B [<s8>, <one>, <col>] : !int -> !int
  %w = nvvm.wgmma.mma_async %da, %db, %i3, <m = 64, n = 8, k = 32>, D [<s32>, <one>, <wrapped>], A [<u8>, <one>, <row>], B [<s8>, <one>, <col>] : !int -> !int
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %saturated = llvm.extractvalue %s[2] : !int
  %wrapped = llvm.extractvalue %w[2] : !int
  memref.store %saturated, %out[%t, %c0] : memref<128x2xi32>
  memref.store %wrapped, %out[%t, %c1] : memref<128x2xi32>
  return
}

// 0x40 is 2 in either type, and 0x3C is 1.5 in the one and 1 in the other; both come 16 times.
// BITS: eight_bits: clean
// BITS: argument 2: 88 88
func.func @eight_bits(%a: !a, %b: !b, %out: memref<128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %bits = arith.constant dense<0x3C40> : vector<8xi16>
  %halves = vector.bitcast %bits : vector<8xi16> to vector<8xf16>
  %t = gpu.thread_id x
  %half = arith.divui %t, %c64 : index
  %row = arith.remui %t, %c64 : index
  vector.store %halves, %a[%half, %row, %c0] : !a, vector<8xf16>
  %first = arith.cmpi ult, %t, %c8 : index
  scf.if %first {
    vector.store %halves, %b[%c0, %t, %c0] : !b, vector<8xf16>
    vector.store %halves, %b[%c1, %t, %c0] : !b, vector<8xf16>
  }
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  gpu.barrier
  %da, %db = func.call @factors(%a, %b) : (!a, !b) -> (i64, i64)
  %any = llvm.mlir.undef : !d
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %da, %db, %any, <m = 64, n = 8, k = 32>, D [<f32>, <zero>], A [<e4m3>, <one>, <row>], B [<e5m2>, <one>, <col>] : !d -> !d
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %number = llvm.extractvalue %d[3] : !d
  memref.store %number, %out[%t] : memref<128xf32>
  return
}
