// Reductions over a warp, over clusters of its lanes, and over a block.
//
// RUN: async-sim %s --kernel=integers --block=4 --arg 0=zero --print | FileCheck %s --check-prefix=INTEGERS
// RUN: async-sim %s --kernel=floats --block=4 --arg 0=zero --print | FileCheck %s --check-prefix=FLOATS
// RUN: async-sim %s --kernel=clusters --block=16 --arg 0=zero --print | FileCheck %s --check-prefix=CLUSTERS
// RUN: async-sim %s --kernel=vectors --block=33 --arg 0=zero --print | FileCheck %s --check-prefix=VECTORS
// RUN: async-sim %s --kernel=blocks --block=20,2 --grid=2 --arg 0=zero --print | FileCheck %s --check-prefix=BLOCKS
// RUN: async-sim %s --kernel=region --block=8,5 --arg 0=zero --print | FileCheck %s --check-prefix=REGION
// RUN: not async-sim %s --kernel=half_a_warp --block=32 | FileCheck %s --check-prefix=WARP
// RUN: not async-sim %s --kernel=half_a_block --block=64 | FileCheck %s --check-prefix=BLOCK
// RUN: not async-sim %s --kernel=no_barrier --block=64 | FileCheck %s --check-prefix=ORDER

// Of -1, 0, 1 and 2.
// INTEGERS: integers: clean
// INTEGERS: argument 0: 2 0 -1 0 2 -1 0 -1 -4
func.func @integers(%out: memref<9xi32>) {
  %one = arith.constant 1 : index
  %t = gpu.thread_id x
  %signed = arith.subi %t, %one : index
  %x = arith.index_cast %signed : index to i32
  %add = gpu.subgroup_reduce add %x : (i32) -> i32
  %mul = gpu.subgroup_reduce mul %x : (i32) -> i32
  %minsi = gpu.subgroup_reduce minsi %x : (i32) -> i32
  %minui = gpu.subgroup_reduce minui %x : (i32) -> i32
  %maxsi = gpu.subgroup_reduce maxsi %x : (i32) -> i32
  %maxui = gpu.subgroup_reduce maxui %x : (i32) -> i32
  %and = gpu.subgroup_reduce and %x : (i32) -> i32
  %or = gpu.subgroup_reduce or %x : (i32) -> i32
  %xor = gpu.subgroup_reduce xor %x : (i32) -> i32
  %all = vector.from_elements %add, %mul, %minsi, %minui, %maxsi, %maxui, %and, %or, %xor : vector<9xi32>
  %c0 = arith.constant 0 : index
  %is_first = arith.cmpi eq, %t, %c0 : index
  scf.if %is_first {
    vector.store %all, %out[%c0] : memref<9xi32>, vector<9xi32>
  }
  return
}

// Of NaN, 1, 2 and 3.
// FLOATS: floats: clean
// FLOATS: argument 0: NaN NaN 1 3 NaN NaN
func.func @floats(%out: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %nan = arith.constant 0x7FC00000 : f32
  %t = gpu.thread_id x
  %i = arith.index_cast %t : index to i32
  %number = arith.sitofp %i : i32 to f32
  %is_first = arith.cmpi eq, %t, %c0 : index
  %x = arith.select %is_first, %nan, %number : f32
  %add = gpu.subgroup_reduce add %x : (f32) -> f32
  %mul = gpu.subgroup_reduce mul %x : (f32) -> f32
  %minnum = gpu.subgroup_reduce minnumf %x : (f32) -> f32
  %maxnum = gpu.subgroup_reduce maxnumf %x : (f32) -> f32
  %minimum = gpu.subgroup_reduce minimumf %x : (f32) -> f32
  %maximum = gpu.all_reduce maximumf %x {} : (f32) -> (f32)
  %all = vector.from_elements %add, %mul, %minnum, %maxnum, %minimum, %maximum : vector<6xf32>
  scf.if %is_first {
    vector.store %all, %out[%c0] : memref<6xf32>, vector<6xf32>
  }
  return
}

// Lanes 0, 2, 4, 6 make a cluster, then 1, 3, 5, 7, and so on.
// CLUSTERS: clusters: clean
// CLUSTERS: argument 0: 12 16 12 16 12 16 12 16 44 48 44 48 44 48 44 48
func.func @clusters(%out: memref<16xi32>) {
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %sum = gpu.subgroup_reduce add %x cluster(size = 4, stride = 2) : (i32) -> i32
  memref.store %sum, %out[%t] : memref<16xi32>
  return
}

// Thread 32 is alone in its warp.
// VECTORS: vectors: clean
// VECTORS: argument 0: 496 32 32 1
func.func @vectors(%out: memref<2x2xi32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1 : i32
  %t = gpu.thread_id x
  %warp = arith.divui %t, %c32 : index
  %lane = arith.remui %t, %c32 : index
  %x = arith.index_cast %t : index to i32
  %pair = vector.from_elements %x, %one : vector<2xi32>
  %sums = gpu.subgroup_reduce add %pair : (vector<2xi32>) -> vector<2xi32>
  %is_first = arith.cmpi eq, %lane, %c0 : index
  scf.if %is_first {
    vector.store %sums, %out[%warp, %c0] : memref<2x2xi32>, vector<2xi32>
  }
  return
}

// Over all warps of a block, and each block for itself.
// BLOCKS: blocks: clean
// BLOCKS: argument 0: 190 230
func.func @blocks(%out: memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %y = gpu.thread_id y
  %row = arith.muli %t, %y : index
  %number = arith.addi %row, %b : index
  %x = arith.index_cast %number : index to i32
  %sum = gpu.all_reduce add %x {} : (i32) -> (i32)
  %sum_of_ids = arith.addi %t, %y : index
  %is_first = arith.cmpi eq, %sum_of_ids, %c0 : index
  scf.if %is_first {
    memref.store %sum, %out[%b] : memref<2xi32>
  }
  return
}

// What no keyword names: the sum of squares of the even ones, computed by one thread.
// REGION: region: clean
// REGION: argument 0: 280 280 280 280 280 280 280 280
func.func @region(%out: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %y = gpu.thread_id y
  %x = arith.index_cast %t : index to i32
  %sum = gpu.all_reduce %x {
  ^bb(%l: i32, %r: i32):
    %one = arith.constant 1 : i32
    %odd = arith.andi %r, %one : i32
    %is_odd = arith.trunci %odd : i32 to i1
    %next = scf.if %is_odd -> i32 {
      scf.yield %l : i32
    } else {
      %square = arith.muli %r, %r : i32
      %added = arith.addi %l, %square : i32
      scf.yield %added : i32
    }
    "gpu.yield"(%next) : (i32) -> ()
  } : (i32) -> (i32)
  %is_first = arith.cmpi eq, %y, %c0 : index
  scf.if %is_first {
    memref.store %sum, %out[%t] : memref<8xi32>
  }
  return
}

// WARP: error: gpu.subgroup_reduce: this is an operation of a whole warp, and not all of its threads come to it
func.func @half_a_warp() {
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    %sum = gpu.subgroup_reduce add %x : (i32) -> i32
  }
  gpu.barrier
  return
}

// BLOCK: error: gpu.all_reduce: this is an operation of the whole block, and some of its threads stand elsewhere
func.func @half_a_block() {
  %c32 = arith.constant 32 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %is_lower = arith.cmpi ult, %t, %c32 : index
  scf.if %is_lower {
    %sum = gpu.all_reduce add %x {} : (i32) -> (i32)
  }
  gpu.barrier
  return
}

// MLIR does not say that a reduction orders accesses of memory.
// ORDER: error: RAW race: memref.load reads what another thread wrote, and no block barrier lies between
func.func @no_barrier() {
  %s = memref.alloc() : memref<64xi32, 3>
  %c63 = arith.constant 63 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  memref.store %x, %s[%t] : memref<64xi32, 3>
  %sum = gpu.all_reduce add %x {} : (i32) -> (i32)
  %mirror = arith.subi %c63, %t : index
  %y = memref.load %s[%mirror] : memref<64xi32, 3>
  return
}
