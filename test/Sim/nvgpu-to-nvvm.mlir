// What upstream's --convert-nvgpu-to-nvvm leaves computes what it was.
//
// RUN: async-sim %s --kernel=half --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=HALF
// RUN: async-sim %s --kernel=single --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=SINGLE
// RUN: async-sim %s --kernel=bytes --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=BYTES
// RUN: async-sim %s --kernel=double --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=DOUBLE
// RUN: async-opt %s --convert-nvgpu-to-nvvm -o %t.mlir
// RUN: async-sim %t.mlir --kernel=half --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=HALF
// RUN: async-sim %t.mlir --kernel=single --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=SINGLE
// RUN: async-sim %t.mlir --kernel=bytes --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=BYTES
// RUN: async-sim %t.mlir --kernel=double --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=DOUBLE
// RUN: not async-sim %t.mlir --kernel=no_barrier --block=32 | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %t.mlir --kernel=half_a_warp --block=32 | FileCheck %s --check-prefix=PART

!shared = memref<16x16xf16, #gpu.address_space<workgroup>>

// Row 0 of A is 0, 1, 2, …, and column 0 of B is 0, 8, 16, …
// HALF: half: clean
// HALF: argument 2: 9920 10040 10160 10280 10400 10520 10640 10760 25280 25656
func.func @half(%a: memref<16x16xf16>, %b: memref<16x8xf16>, %out: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %as = memref.alloc() : !shared
  %bs = memref.alloc() : memref<16x8xf16, #gpu.address_space<workgroup>>
  %t = gpu.thread_id x
  %row = arith.remui %t, %c16 : index
  %half = arith.divui %t, %c16 : index
  %column = arith.muli %half, %c8 : index
  %copy = nvgpu.device_async_copy %a[%row, %column], %as[%row, %column], 8 : memref<16x16xf16> to !shared
  %group = nvgpu.device_async_create_group %copy
  %is_first = arith.cmpi eq, %half, %c0 : index
  scf.if %is_first {
    %x = vector.load %b[%row, %c0] : memref<16x8xf16>, vector<8xf16>
    vector.store %x, %bs[%row, %c0] : memref<16x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  }
  nvgpu.device_async_wait %group
  gpu.barrier
  %left = nvgpu.ldmatrix %as[%row, %column] {numTiles = 4 : i32, transpose = false} : !shared -> vector<4x2xf16>
  %right = nvgpu.ldmatrix %bs[%row, %c0] {numTiles = 2 : i32, transpose = true} : memref<16x8xf16, #gpu.address_space<workgroup>> -> vector<2x2xf16>
  %zero = arith.constant dense<0.0> : vector<2x2xf32>
  %d = nvgpu.mma.sync (%left, %right, %zero) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %upper = arith.divui %t, %c4 : index
  %lower = arith.addi %upper, %c8 : index
  %quarter = arith.remui %t, %c4 : index
  %pair = arith.muli %quarter, %c2 : index
  %d0 = vector.extract %d[0] : vector<2xf32> from vector<2x2xf32>
  %d1 = vector.extract %d[1] : vector<2xf32> from vector<2x2xf32>
  vector.store %d0, %out[%upper, %pair] : memref<16x8xf32>, vector<2xf32>
  vector.store %d1, %out[%lower, %pair] : memref<16x8xf32>, vector<2xf32>
  return
}

// Each thread brings its part of A and B as it is.
// SINGLE: single: clean
// SINGLE: argument 2: 280 728 308 820 1176 1624 1332 1844
func.func @single(%a: memref<32x4x1xf32>, %b: memref<32x2x1xf32>, %out: memref<32x2x2xf32>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %left = vector.load %a[%t, %c0, %c0] : memref<32x4x1xf32>, vector<4x1xf32>
  %right = vector.load %b[%t, %c0, %c0] : memref<32x2x1xf32>, vector<2x1xf32>
  %c = vector.load %out[%t, %c0, %c0] : memref<32x2x2xf32>, vector<2x2xf32>
  %d = nvgpu.mma.sync (%left, %right, %c) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  vector.store %d, %out[%t, %c0, %c0] : memref<32x2x2xf32>, vector<2x2xf32>
  return
}

// BYTES: bytes: clean
// BYTES: argument 2: 20048 50256 22032 56336 80464 110672 90640 124944 -100784
func.func @bytes(%a: memref<32x4x4xi8>, %b: memref<32x2x4xi8>, %out: memref<32x2x2xi32>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %left = vector.load %a[%t, %c0, %c0] : memref<32x4x4xi8>, vector<4x4xi8>
  %right = vector.load %b[%t, %c0, %c0] : memref<32x2x4xi8>, vector<2x4xi8>
  %c = vector.load %out[%t, %c0, %c0] : memref<32x2x2xi32>, vector<2x2xi32>
  %d = nvgpu.mma.sync (%left, %right, %c) {mmaShape = [16, 8, 32]} : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
  vector.store %d, %out[%t, %c0, %c0] : memref<32x2x2xi32>, vector<2x2xi32>
  return
}

// DOUBLE: double: clean
// DOUBLE: argument 2: 14 38 62 86 110 134 158 182 38 126
func.func @double(%a: memref<32x1x1xf64>, %b: memref<32x1x1xf64>, %out: memref<32x1x2xf64>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %left = vector.load %a[%t, %c0, %c0] : memref<32x1x1xf64>, vector<1x1xf64>
  %right = vector.load %b[%t, %c0, %c0] : memref<32x1x1xf64>, vector<1x1xf64>
  %c = vector.load %out[%t, %c0, %c0] : memref<32x1x2xf64>, vector<1x2xf64>
  %d = nvgpu.mma.sync (%left, %right, %c) {mmaShape = [8, 8, 4]} : (vector<1x1xf64>, vector<1x1xf64>, vector<1x2xf64>) -> vector<1x2xf64>
  vector.store %d, %out[%t, %c0, %c0] : memref<32x1x2xf64>, vector<1x2xf64>
  return
}

// RACE: error: RAW race: nvvm.ldmatrix reads what another thread wrote, and no block barrier lies between
// RACE: against: vector.store
func.func @no_barrier() {
  %x = arith.constant dense<1.0> : vector<8xf16>
  %s = memref.alloc() : memref<8x8xf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x
  %row = arith.remui %t, %c8 : index
  %is_row = arith.cmpi ult, %t, %c8 : index
  scf.if %is_row {
    vector.store %x, %s[%t, %c0] : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  }
  %tile = nvgpu.ldmatrix %s[%row, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
  return
}

// PART: error: nvvm.ldmatrix: this is an operation of a whole warp, and not all of its threads come to it
func.func @half_a_warp() {
  %s = memref.alloc() : memref<8x8xf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x
  %is_row = arith.cmpi ult, %t, %c8 : index
  scf.if %is_row {
    %tile = nvgpu.ldmatrix %s[%t, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
  }
  return
}
