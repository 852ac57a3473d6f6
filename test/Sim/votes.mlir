// What lanes of a warp make of a number that each of them brings.
//
// RUN: async-sim %s --kernel=votes --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=VOTES
// RUN: async-sim %s --kernel=matches --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=MATCHES
// RUN: async-sim %s --kernel=reductions --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=REDUCTIONS
// RUN: async-sim %s --kernel=some_lanes --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=SOME
// RUN: not async-sim %s --kernel=some_stay_away --block=32 | FileCheck %s --check-prefix=AWAY
// RUN: async-sim %s --kernel=absolute --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=ABSOLUTE
// RUN: async-sim %s --kernel=lane_masks --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=MASKS

// Of lanes 0 to 2, and of all.
// VOTES: votes: clean
// VOTES: argument 0: 7 1 0 0 -1 1 1 1
func.func @votes(%out: memref<8xi32>) {
  %all = arith.constant -1 : i32
  %true = arith.constant true
  %c3 = arith.constant 3 : index
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c3 : index
  %b0 = nvvm.vote.sync ballot %all, %low -> i32
  %a0 = nvvm.vote.sync any %all, %low -> i1
  %e0 = nvvm.vote.sync all %all, %low -> i1
  %u0 = nvvm.vote.sync uni %all, %low -> i1
  %b1 = nvvm.vote.sync ballot %all, %true -> i32
  %a1 = nvvm.vote.sync any %all, %true -> i1
  %e1 = nvvm.vote.sync all %all, %true -> i1
  %u1 = nvvm.vote.sync uni %all, %true -> i1
  %flags = vector.from_elements %a0, %e0, %u0, %a1, %e1, %u1 : vector<6xi1>
  %n = arith.extui %flags : vector<6xi1> to vector<6xi32>
  %n0 = vector.extract %n[0] : i32 from vector<6xi32>
  %n1 = vector.extract %n[1] : i32 from vector<6xi32>
  %n2 = vector.extract %n[2] : i32 from vector<6xi32>
  %n3 = vector.extract %n[3] : i32 from vector<6xi32>
  %n4 = vector.extract %n[4] : i32 from vector<6xi32>
  %n5 = vector.extract %n[5] : i32 from vector<6xi32>
  %row = vector.from_elements %b0, %n0, %n1, %n2, %b1, %n3, %n4, %n5 : vector<8xi32>
  %c0 = arith.constant 0 : index
  %is_first = arith.cmpi eq, %t, %c0 : index
  scf.if %is_first {
    vector.store %row, %out[%c0] : memref<8xi32>, vector<8xi32>
  }
  return
}

// Pairs of lanes have a number each; that there is one for all is wrong then, and true of another.
// MATCHES: matches: clean
// MATCHES: argument 0: 3 0 0 -1 1 3 0 0 -1 1 12 0 0 -1 1
func.func @matches(%out: memref<32x5xi32>) {
  %all = arith.constant -1 : i32
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %pair = arith.shrui %x, %one : i32
  %any = nvvm.match.sync any %all, %pair : i32 -> i32
  %no = nvvm.match.sync all %all, %pair : i32 -> !llvm.struct<(i32, i1)>
  %yes = nvvm.match.sync all %all, %one : i32 -> !llvm.struct<(i32, i1)>
  %n0 = llvm.extractvalue %no[0] : !llvm.struct<(i32, i1)>
  %n1 = llvm.extractvalue %no[1] : !llvm.struct<(i32, i1)>
  %y0 = llvm.extractvalue %yes[0] : !llvm.struct<(i32, i1)>
  %y1 = llvm.extractvalue %yes[1] : !llvm.struct<(i32, i1)>
  %n = arith.extui %n1 : i1 to i32
  %y = arith.extui %y1 : i1 to i32
  %row = vector.from_elements %any, %n0, %n, %y0, %y : vector<5xi32>
  vector.store %row, %out[%t, %c0] : memref<32x5xi32>, vector<5xi32>
  return
}

// Of -1 to 30.
// REDUCTIONS: reductions: clean
// REDUCTIONS: argument 0: 464 30 -1 -1 0 -1
func.func @reductions(%out: memref<6xi32>) {
  %all = arith.constant -1 : i32
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %i = arith.index_cast %t : index to i32
  %x = arith.subi %i, %one : i32
  %add = nvvm.redux.sync add %x, %all : i32 -> i32
  %max = nvvm.redux.sync max %x, %all : i32 -> i32
  %min = nvvm.redux.sync min %x, %all : i32 -> i32
  %umax = nvvm.redux.sync umax %x, %all : i32 -> i32
  %umin = nvvm.redux.sync umin %x, %all : i32 -> i32
  %or = nvvm.redux.sync or %x, %all : i32 -> i32
  %row = vector.from_elements %add, %max, %min, %umax, %umin, %or : vector<6xi32>
  %is_first = arith.cmpi eq, %t, %c0 : index
  scf.if %is_first {
    vector.store %row, %out[%c0] : memref<6xi32>, vector<6xi32>
  }
  return
}

// Lanes 0 to 3 alone.
// SOME: some_lanes: clean
// SOME: argument 0: 6 6 6 6 0
func.func @some_lanes(%out: memref<32xi32>) {
  %four = arith.constant 15 : i32
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %low = arith.cmpi ult, %t, %c4 : index
  scf.if %low {
    %sum = nvvm.redux.sync add %x, %four : i32 -> i32
    memref.store %sum, %out[%t] : memref<32xi32>
  }
  return
}

// AWAY: error: nvvm.vote.sync: this is an operation of a whole warp, and not all of its threads come to it
func.func @some_stay_away(%out: memref<32xi32>) {
  %all = arith.constant -1 : i32
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c4 : index
  scf.if %low {
    %sum = nvvm.vote.sync ballot %all, %low -> i32
    memref.store %sum, %out[%t] : memref<32xi32>
  }
  gpu.barrier
  return
}

// Of -3 to 28: with the sign, and without.
// ABSOLUTE: absolute: clean
// ABSOLUTE: argument 0: -3 0
func.func @absolute(%out: memref<2xf32>) {
  %all = arith.constant -1 : i32
  %three = arith.constant 3 : i32
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %i = arith.index_cast %t : index to i32
  %n = arith.subi %i, %three : i32
  %x = arith.sitofp %n : i32 to f32
  %min = nvvm.redux.sync fmin %x, %all : f32 -> f32
  %least = nvvm.redux.sync fmin %x, %all {abs = true} : f32 -> f32
  %row = vector.from_elements %min, %least : vector<2xf32>
  %is_first = arith.cmpi eq, %t, %c0 : index
  scf.if %is_first {
    vector.store %row, %out[%c0] : memref<2xf32>, vector<2xf32>
  }
  return
}

// Of lanes 0 and 31: itself, those before, up to, after and from it on.
// MASKS: lane_masks: clean
// MASKS: argument 0: 1 0 1 -2 -1 {{.*}} -2147483648 2147483647 -1 0 -2147483648
func.func @lane_masks(%out: memref<32x5xi32>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %eq = nvvm.read.ptx.sreg.lanemask.eq : i32
  %lt = nvvm.read.ptx.sreg.lanemask.lt : i32
  %le = nvvm.read.ptx.sreg.lanemask.le : i32
  %gt = nvvm.read.ptx.sreg.lanemask.gt : i32
  %ge = nvvm.read.ptx.sreg.lanemask.ge : i32
  %row = vector.from_elements %eq, %lt, %le, %gt, %ge : vector<5xi32>
  vector.store %row, %out[%t, %c0] : memref<32x5xi32>, vector<5xi32>
  return
}
