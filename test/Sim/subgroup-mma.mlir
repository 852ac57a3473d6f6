// Matrices that a warp has together.
//
// RUN: async-sim %s --kernel=product --block=32 --arg 0=ramp --arg 1=ramp --arg 2=zero --print | FileCheck %s --check-prefix=PRODUCT
// RUN: async-sim %s --kernel=signs --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=SIGNS
// RUN: async-sim %s --kernel=elementwise --block=32 --arg 0=ramp --arg 1=zero --arg 2=zero --print | FileCheck %s --check-prefix=ELEMENTS
// RUN: async-sim %s --kernel=own_elements --block=32 --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=OWN
// RUN: async-sim %s --kernel=in_place --block=32 | FileCheck %s --check-prefix=PLACE
// RUN: not async-sim %s --kernel=other_warp --block=64 | FileCheck %s --check-prefix=OTHER
// RUN: not async-sim %s --kernel=no_barrier --block=32 | FileCheck %s --check-prefix=RACE
// RUN: async-sim %s --kernel=warp_barrier --block=32 | FileCheck %s --check-prefix=CLEAN
// RUN: not async-sim %s --kernel=half_a_warp --block=32 | FileCheck %s --check-prefix=HALF
// RUN: not async-sim %s --kernel=different_places --block=32 | FileCheck %s --check-prefix=PLACES
// RUN: not async-sim %s --kernel=outside --block=32 | FileCheck %s --check-prefix=OUTSIDE

// Row 0 of A is 0, 1, 2, …, and so is column 0 of B, which lies column by column. There is 1 to add to.
// PRODUCT: product: clean
// PRODUCT: argument 2: 1241 3161 5081 7001
func.func @product(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %left = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %right = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 16 : index, transpose} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %c = gpu.subgroup_mma_constant_matrix %one : !gpu.mma_matrix<16x16xf32, "COp">
  %d = gpu.subgroup_mma_compute %left, %right, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %d, %out[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  return
}

// 255 times -1, 16 times.
// SIGNS: signs: clean
// SIGNS: argument 0: -4080 -4080
func.func @signs(%out: memref<16x16xi32>) {
  %c0 = arith.constant 0 : index
  %ones = arith.constant -1 : i8
  %zero = arith.constant 0 : i32
  %s = memref.alloc() : memref<16x16xi8, 3>
  %t = gpu.thread_id x
  %c16 = arith.constant 16 : index
  %is_row = arith.cmpi ult, %t, %c16 : index
  scf.if %is_row {
    %row = vector.broadcast %ones : i8 to vector<16xi8>
    vector.store %row, %s[%t, %c0] : memref<16x16xi8, 3>, vector<16xi8>
  }
  gpu.barrier
  %left = gpu.subgroup_mma_load_matrix %s[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi8, 3> -> !gpu.mma_matrix<16x16xui8, "AOp">
  %right = gpu.subgroup_mma_load_matrix %s[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi8, 3> -> !gpu.mma_matrix<16x16xsi8, "BOp">
  %c = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<16x16xi32, "COp">
  %d = gpu.subgroup_mma_compute %left, %right, %c : !gpu.mma_matrix<16x16xui8, "AOp">, !gpu.mma_matrix<16x16xsi8, "BOp"> -> !gpu.mma_matrix<16x16xi32, "COp">
  gpu.subgroup_mma_store_matrix %d, %out[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xi32, "COp">, memref<16x16xi32>
  return
}

// -(x + 2) of each x, stored into every second row, and column by column.
// ELEMENTS: elementwise: clean
// ELEMENTS: argument 1: -2 -3 -4 -5 -6 -7 -8 -9 -10 -11 -12 -13 -14 -15 -16 -17 0 0 0
// ELEMENTS: argument 2: -2 -18 -34
func.func @elementwise(%a: memref<16x16xf16>, %out: memref<32x16xf32>, %turned: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
  %wide = gpu.subgroup_mma_elementwise extf %x : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  %twos = gpu.subgroup_mma_constant_matrix %two : !gpu.mma_matrix<16x16xf32, "COp">
  %sum = gpu.subgroup_mma_elementwise addf %wide, %twos : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  %minus = gpu.subgroup_mma_elementwise negatef %sum : (!gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %minus, %out[%c0, %c0] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<32x16xf32>
  gpu.subgroup_mma_store_matrix %minus, %turned[%c0, %c0] {leadDimension = 16 : index, transpose} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  return
}

// Which elements a lane has nobody says, but it may change them: here, it doubles the first.
// OWN: own_elements: clean
// OWN: argument 1: {{.*}} 255
func.func @own_elements(%a: memref<16x16xf32>, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
  %first = gpu.subgroup_mma_extract_thread_local %x[%c0] : !gpu.mma_matrix<16x16xf32, "COp"> -> f32
  %double = arith.addf %first, %first : f32
  %y = gpu.subgroup_mma_insert_thread_local %double, %x[%c0] : f32, !gpu.mma_matrix<16x16xf32, "COp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %y, %out[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  return
}

// Each element is stored by who has loaded it, whoever that is.
// PLACE: in_place: clean
func.func @in_place(%a: memref<16x16xf16>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %left = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %right = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %sum = gpu.subgroup_mma_load_matrix %c[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
  %d = gpu.subgroup_mma_compute %left, %right, %sum : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %d, %c[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  return
}

// OTHER: error: WAR race: gpu.subgroup_mma_store_matrix writes what another thread reads
func.func @other_warp(%c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %t = gpu.thread_id x
  %x = gpu.subgroup_mma_load_matrix %c[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
  %is_second = arith.cmpi uge, %t, %c32 : index
  scf.if %is_second {
    gpu.subgroup_mma_store_matrix %x, %c[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
  }
  return
}

// Even if each thread has written just what it loads.
// RACE: error: RAW race: gpu.subgroup_mma_load_matrix reads what another thread wrote, and no block barrier lies between
func.func @no_barrier() {
  %s = memref.alloc() : memref<8x4xf64, 3>
  %x = arith.constant 1.0 : f64
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x
  %row = arith.divui %t, %c4 : index
  %column = arith.remui %t, %c4 : index
  memref.store %x, %s[%row, %column] : memref<8x4xf64, 3>
  %m = gpu.subgroup_mma_load_matrix %s[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf64, 3> -> !gpu.mma_matrix<8x4xf64, "AOp">
  return
}

// CLEAN: warp_barrier: clean
func.func @warp_barrier() {
  %s = memref.alloc() : memref<8x4xf64, 3>
  %x = arith.constant 1.0 : f64
  %all = arith.constant -1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x
  %row = arith.divui %t, %c4 : index
  %column = arith.remui %t, %c4 : index
  memref.store %x, %s[%row, %column] : memref<8x4xf64, 3>
  nvvm.bar.warp.sync %all : i32
  %m = gpu.subgroup_mma_load_matrix %s[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf64, 3> -> !gpu.mma_matrix<8x4xf64, "AOp">
  return
}

// HALF: error: gpu.subgroup_mma_load_matrix: this is an operation of a whole warp, and not all of its threads come to it
func.func @half_a_warp(%a: memref<16x16xf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  }
  return
}

// PLACES: error: gpu.subgroup_mma_load_matrix: threads of the warp access one matrix together here, and name different places
// PLACES-NEXT: this: thread 1 of block 0
func.func @different_places(%a: memref<32x16xf16>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %x = gpu.subgroup_mma_load_matrix %a[%t, %c0] {leadDimension = 16 : index} : memref<32x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  return
}

// OUTSIDE: error: gpu.subgroup_mma_load_matrix: 2 bytes from byte 512 on are not inside of argument 0
func.func @outside(%a: memref<16x16xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.subgroup_mma_load_matrix %a[%c1, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  return
}
