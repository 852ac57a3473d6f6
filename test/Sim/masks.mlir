// Masks say what of a vector is accessed.
//
// RUN: async-sim %s --kernel=makes --arg 0=zero --arg 1=zero --arg 2=2 --print | FileCheck %s --check-prefix=MAKES
// RUN: async-sim %s --kernel=loads --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=LOADS
// RUN: async-sim %s --kernel=stores --arg 0=zero --print | FileCheck %s --check-prefix=STORES
// RUN: async-sim %s --kernel=transfers --arg 0=ramp --arg 1=zero --arg 2=9 --print | FileCheck %s --check-prefix=TRANSFERS
// RUN: async-sim %s --kernel=scattered --arg 0=ramp --arg 1=zero --print | FileCheck %s --check-prefix=SCATTERED
// RUN: async-sim %s --kernel=reduced --arg 0=zero --print | FileCheck %s --check-prefix=REDUCED
// RUN: async-sim %s --kernel=nothing --arg 0=zero --print | FileCheck %s --check-prefix=NOTHING
// RUN: not async-sim %s --kernel=least_of_nothing | FileCheck %s --check-prefix=LEAST
// RUN: not async-sim %s --kernel=outside | FileCheck %s --check-prefix=OUTSIDE
// RUN: async-sim %s --kernel=halves --block=2 | FileCheck %s --check-prefix=HALVES
// RUN: not async-sim %s --kernel=overlap --block=2 | FileCheck %s --check-prefix=OVERLAP
// RUN: not async-sim %s --kernel=other 2>&1 | FileCheck %s --check-prefix=OTHER

// Bounds may be beyond the vector, or negative.
// MAKES: makes: clean
// MAKES: argument 0: 1 1 1 0 1 1 1 0
// MAKES: argument 1: 1 1 0 0 0 0 0 0
func.func @makes(%a: memref<2x4xi1>, %b: memref<2x4xi1>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %minus = arith.constant -3 : index
  %three = arith.constant 3 : index
  %x = vector.create_mask %c9, %three : vector<2x4xi1>
  vector.store %x, %a[%c0, %c0] : memref<2x4xi1>, vector<2x4xi1>
  %y = vector.constant_mask [1, 2] : vector<2x4xi1>
  %none = vector.create_mask %minus, %n : vector<2x4xi1>
  %z = arith.ori %y, %none : vector<2x4xi1>
  vector.store %z, %b[%c0, %c0] : memref<2x4xi1>, vector<2x4xi1>
  return
}

// What is not loaded may be out of bounds.
// LOADS: loads: clean
// LOADS: argument 1: 6 7 -1 -2
func.func @loads(%a: memref<8xf32>, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %else = arith.constant dense<[-3.0, -3.0, -1.0, -2.0]> : vector<4xf32>
  %mask = vector.constant_mask [2] : vector<4xi1>
  %x = vector.maskedload %a[%c6], %mask, %else : memref<8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.store %x, %out[%c0] : memref<4xf32>, vector<4xf32>
  return
}

// STORES: stores: clean
// STORES: argument 0: 0 1 0 3
func.func @stores(%out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %mask = arith.constant dense<[false, true, false, true]> : vector<4xi1>
  %x = arith.constant dense<[0.5, 1.0, 2.0, 3.0]> : vector<4xf32>
  vector.maskedstore %out[%c0], %mask, %x : memref<4xf32>, vector<4xi1>, vector<4xf32>
  return
}

// The mask of a transposed transfer has the dimensions of memory.
// TRANSFERS: transfers: clean
// TRANSFERS: argument 1: 0 4 1 9 9 9 0 1 9 0 0 0
func.func @transfers(%m: memref<4x4xf32>, %out: memref<12xf32>, %pad: f32) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %mask = arith.constant dense<[[true, true, false], [true, false, false]]> : vector<2x3xi1>
  %x = vector.transfer_read %m[%c0, %c0], %pad, %mask {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (j, i)>} : memref<4x4xf32>, vector<3x2xf32>
  %flat = vector.shape_cast %x : vector<3x2xf32> to vector<6xf32>
  vector.store %flat, %out[%c0] : memref<12xf32>, vector<6xf32>
  %first = vector.constant_mask [2] : vector<3xi1>
  %y = vector.mask %first { vector.transfer_read %m[%c0, %c0], %pad {in_bounds = [true]} : memref<4x4xf32>, vector<3xf32> } : vector<3xi1> -> vector<3xf32>
  %all = vector.constant_mask [3] : vector<6xi1>
  %six = vector.shuffle %y, %y [0, 1, 2, 0, 1, 2] : vector<3xf32>, vector<3xf32>
  vector.mask %all { vector.transfer_write %six, %out[%c6] {in_bounds = [true]} : vector<6xf32>, memref<12xf32> } : vector<6xi1>
  return
}

// SCATTERED: scattered: clean
// SCATTERED: argument 1: 7 0 0 5 0 0 0 -1
func.func @scattered(%a: memref<2x8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %else = arith.constant dense<-1.0> : vector<3xf32>
  %mask = arith.constant dense<[true, false, true]> : vector<3xi1>
  %from = arith.constant dense<[3, 100, 1]> : vector<3xi32>
  %x = vector.gather %a[%c0, %c4] [%from], %mask, %else : memref<2x8xf32>, vector<3xi32>, vector<3xi1>, vector<3xf32> into vector<3xf32>
  %all = arith.constant dense<true> : vector<3xi1>
  %to = arith.constant dense<[-1, 6, 2]> : vector<3xi32>
  vector.scatter %out[%c1] [%to], %all, %x : memref<8xf32>, vector<3xi32>, vector<3xi1>, vector<3xf32>
  return
}

// REDUCED: reduced: clean
// REDUCED: argument 0: 5
func.func @reduced(%out: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<[1, 2, 4, 8]> : vector<4xi32>
  %mask = arith.constant dense<[true, false, true, false]> : vector<4xi1>
  %sum = vector.mask %mask { vector.reduction <add>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  memref.store %sum, %out[%c0] : memref<1xi32>
  return
}

// What each combination makes of nothing.
// NOTHING: nothing: clean
// NOTHING: argument 0: 0 1 -1 0 0 -1 0 2147483647 -2147483648
func.func @nothing(%out: memref<9xi32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<5> : vector<4xi32>
  %mask = vector.create_mask %c0 : vector<4xi1>
  %add = vector.mask %mask { vector.reduction <add>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %mul = vector.mask %mask { vector.reduction <mul>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %and = vector.mask %mask { vector.reduction <and>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %or = vector.mask %mask { vector.reduction <or>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %xor = vector.mask %mask { vector.reduction <xor>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %minui = vector.mask %mask { vector.reduction <minui>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %maxui = vector.mask %mask { vector.reduction <maxui>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %minsi = vector.mask %mask { vector.reduction <minsi>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %maxsi = vector.mask %mask { vector.reduction <maxsi>, %x : vector<4xi32> into i32 } : vector<4xi1> -> i32
  %all = vector.from_elements %add, %mul, %and, %or, %xor, %minui, %maxui, %minsi, %maxsi : vector<9xi32>
  vector.store %all, %out[%c0] : memref<9xi32>, vector<9xi32>
  return
}

// LEAST: error: vector.reduction: an operand is not a mask with a bit set, which this reduction needs
func.func @least_of_nothing() {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<5.0> : vector<4xf32>
  %mask = vector.create_mask %c0 : vector<4xi1>
  %min = vector.mask %mask { vector.reduction <minnumf>, %x : vector<4xf32> into f32 } : vector<4xi1> -> f32
  return
}

// OUTSIDE: error: vector.maskedload: index 8 is out of bounds: dimension 0 of this view of argument 0 has size 8
func.func @outside(%a: memref<8xf32>) {
  %c6 = arith.constant 6 : index
  %else = arith.constant dense<0.0> : vector<4xf32>
  %mask = vector.constant_mask [3] : vector<4xi1>
  %x = vector.maskedload %a[%c6], %mask, %else : memref<8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

// What is masked off is not accessed, and no race.
// HALVES: halves: clean
func.func @halves() {
  %s = memref.alloc() : memref<4xf32, 3>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %x = arith.constant dense<1.0> : vector<4xf32>
  %upper = arith.cmpi eq, %t, %c0 : index
  %lower = vector.constant_mask [2] : vector<4xi1>
  %flip = vector.broadcast %upper : i1 to vector<4xi1>
  %mask = arith.xori %lower, %flip : vector<4xi1>
  vector.maskedstore %s[%c0], %mask, %x : memref<4xf32, 3>, vector<4xi1>, vector<4xf32>
  return
}

// OVERLAP: error: WAW race: vector.maskedstore writes where another thread writes by the same operation: the addresses of the two overlap
// OVERLAP: bytes 0 to 3
func.func @overlap() {
  %s = memref.alloc() : memref<4xf32, 3>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu.thread_id x
  %count = arith.addi %t, %c1 : index
  %x = arith.constant dense<1.0> : vector<4xf32>
  %mask = vector.create_mask %count : vector<4xi1>
  vector.maskedstore %s[%c0], %mask, %x : memref<4xf32, 3>, vector<4xi1>, vector<4xf32>
  return
}

// OTHER: error: the interpreter knows no masked 'vector.gather'
func.func @other(%a: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %else = arith.constant dense<0.0> : vector<4xf32>
  %mask = vector.constant_mask [3] : vector<4xi1>
  %from = arith.constant dense<0> : vector<4xi32>
  %x = vector.mask %mask { vector.gather %a[%c0] [%from], %mask, %else : memref<8xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32> } : vector<4xi1> -> vector<4xf32>
  return
}
