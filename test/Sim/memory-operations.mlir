// Updates that a region computes, copies of any size, and what is only said of memory.
//
// RUN: async-sim %s --kernel=updates --block=64 --arg 0=zero --arg 1=zero --print | FileCheck %s --check-prefix=UPDATES
// RUN: not async-sim %s --kernel=plain_load --block=2 | FileCheck %s --check-prefix=RACE
// RUN: async-sim %s --kernel=copies --arg 0=3x4:ramp --arg 1=3x4:zero --arg 2=zero --arg 3=ramp --arg 4=zero --print | FileCheck %s --check-prefix=COPIES
// RUN: not async-sim %s --kernel=copies --arg 0=3x4:ramp --arg 1=2x4:zero | FileCheck %s --check-prefix=LARGER
// RUN: async-sim %s --kernel=said --arg 0=ramp --arg 1=zero --dynamic-workgroup=4096 --print | FileCheck %s --check-prefix=SAID
// RUN: async-sim %s --kernel=leaves --block=64 --arg 0=zero --print | FileCheck %s --check-prefix=LEAVES

// Each thread adds its number, and 64 at most: 0 + 1 + … + 10 is 55, and with 11 it is 64. The result is what was stored.
// UPDATES: updates: clean
// UPDATES: argument 0: 64
// UPDATES: argument 1: 0 1 3 6 10 15 21 28 36 45 55 64 64
func.func @updates(%sum: memref<1xi32>, %seen: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %most = arith.constant 64 : i32
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %new = memref.generic_atomic_rmw %sum[%c0] : memref<1xi32> {
  ^bb0(%old: i32):
    %both = arith.addi %old, %x : i32
    %clamped = arith.minsi %both, %most : i32
    memref.atomic_yield %clamped : i32
  }
  memref.store %new, %seen[%t] : memref<64xi32>
  return
}

// RACE: error: {{.*}} race: memref.
func.func @plain_load(%sum: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %old = memref.load %sum[%c0] : memref<1xi32>
  %new = memref.generic_atomic_rmw %sum[%c0] : memref<1xi32> {
  ^bb0(%now: i32):
    %more = arith.addi %now, %old : i32
    memref.atomic_yield %more : i32
  }
  return
}

// COPIES: copies: clean
// COPIES: argument 1: 0 1 2 3 4 5 6 7 8 9 10 11
// COPIES: argument 2: 7
// COPIES: argument 4: 0 1 2 3
// LARGER: error: memref.copy: index 2 is out of bounds: dimension 0 of this view of argument 1 has size 2
func.func @copies(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %one: memref<f32>, %c: memref<2xvector<2xf32>>, %d: memref<2xvector<2xf32>>) {
  memref.copy %a, %b : memref<?x?xf32> to memref<?x?xf32>
  %mine = memref.alloca() : memref<f32>
  %seven = arith.constant 7.0 : f32
  memref.store %seven, %mine[] : memref<f32>
  memref.copy %mine, %one : memref<f32> to memref<f32>
  memref.copy %c, %d : memref<2xvector<2xf32>> to memref<2xvector<2xf32>>
  return
}

// SAID: said: clean
// SAID: argument 1: 2 3 4096
func.func @said(%a: memref<4x4xi32>, %out: memref<3xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %x, %y = memref.distinct_objects %a, %out : memref<4x4xi32>, memref<3xi32>
  memref.prefetch %x[%c0, %c0], read, locality<3>, data : memref<4x4xi32>
  %rank = memref.rank %x : memref<4x4xi32>
  %r = arith.index_cast %rank : index to i32
  memref.store %r, %y[%c0] : memref<3xi32>
  %v = memref.load %x[%c0, %c3] : memref<4x4xi32>
  memref.store %v, %y[%c1] : memref<3xi32>
  %size = nvvm.read.ptx.sreg.dynamic.smem.size : i32
  memref.store %size, %y[%c2] : memref<3xi32>
  return
}

// Threads that have left are not waited for.
// LEAVES: leaves: clean
// LEAVES: argument 0: 1 1 {{.*}} 1 0 0
func.func @leaves(%out: memref<64xi32>) {
  %c32 = arith.constant 32 : index
  %one = arith.constant 1 : i32
  %t = gpu.thread_id x
  %high = arith.cmpi uge, %t, %c32 : index
  scf.if %high {
    nvvm.exit
  }
  nvvm.nanosleep %one
  nvvm.setmaxregister increase 232
  nvvm.griddepcontrol wait
  memref.store %one, %out[%t] : memref<64xi32>
  return
}
