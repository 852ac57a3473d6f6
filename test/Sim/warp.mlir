// What a warp does together is done by each of its threads.
//
// RUN: not async-sim %s --kernel=no_barrier | FileCheck %s --check-prefix=BARRIER
// RUN: async-sim %s --kernel=barrier | FileCheck %s --check-prefix=CLEAN
// RUN: not async-sim %s --kernel=lane_17_is_outside | FileCheck %s --check-prefix=LANE

!global = memref<16x16xf16>
!shared = memref<16x16xf16, #gpu.address_space<workgroup>>

// A row goes to four threads, whoever gives its address. That each of them gives that of the row that it copied itself
// does not help.
// BARRIER: error: RAW race: nvgpu.ldmatrix reads {{.*}} another thread
// BARRIER: help: put a gpu.barrier after the wait for the copy, before this
func.func @no_barrier(%a: !global) attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %as = memref.alloc() : !shared
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %row = arith.remui %t, %c16 : index
  %half = arith.divui %t, %c16 : index
  %column = arith.muli %half, %c8 : index
  gpux.copy %a[%row, %column], %as[%row, %column], 8 : !global to !shared
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  %tile = nvgpu.ldmatrix %as[%row, %column] {numTiles = 4 : i32, transpose = false} : !shared -> vector<4x2xf16>
  return
}

// CLEAN: barrier: clean (1 run of 1 block of 32 threads
func.func @barrier(%a: !global) attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %as = memref.alloc() : !shared
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %row = arith.remui %t, %c16 : index
  %half = arith.divui %t, %c16 : index
  %column = arith.muli %half, %c8 : index
  gpux.copy %a[%row, %column], %as[%row, %column], 8 : !global to !shared
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 0
  gpu.barrier
  %tile = nvgpu.ldmatrix %as[%row, %column] {numTiles = 4 : i32, transpose = true} : !shared -> vector<4x2xf16>
  return
}

// The thread at fault is named, and not the first one of the warp.
// LANE: error: nvgpu.ldmatrix: index 16 is out of bounds: dimension 0 of this view of {{.*}} has size 16
// LANE-NEXT: this: thread 17 of block 0
func.func @lane_17_is_outside() attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %as = memref.alloc() : !shared
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %t = gpu.thread_id x
  %is_17 = arith.cmpi eq, %t, %c17 : index
  %row = arith.select %is_17, %c16, %c0 : index
  %tile = nvgpu.ldmatrix %as[%row, %c0] {numTiles = 4 : i32, transpose = false} : !shared -> vector<4x2xf16>
  return
}

// A barrier of the warp orders its threads, and no others.
//
// RUN: async-sim %s --kernel=neighbours --block=32 | FileCheck %s --check-prefix=NEIGHBOURS
// RUN: not async-sim %s --kernel=neighbours --block=33 | FileCheck %s --check-prefix=ACROSS
// NEIGHBOURS: neighbours: clean
// ACROSS: error: RAW race: memref.load reads what another thread wrote, and no block barrier lies between
// ACROSS-NEXT: this: thread 32 of block 0
func.func @neighbours(%out: memref<64xf32>) {
  %s = memref.alloc() : memref<64xf32, 3>
  %all = arith.constant -1 : i32
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  memref.store %x, %s[%t] : memref<64xf32, 3>
  nvvm.bar.warp.sync %all : i32
  %c0 = arith.constant 0 : index
  %before = arith.subi %t, %c1 : index
  %from = arith.maxsi %before, %c0 : index
  %y = memref.load %s[%from] : memref<64xf32, 3>
  memref.store %y, %out[%t] : memref<64xf32>
  return
}

// RUN: async-sim %s --kernel=sum --block=32 --arg 0=zero --print | FileCheck %s --check-prefix=SUM
// SUM: sum: clean
// SUM: argument 0: 496
func.func @sum(%out: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %x = arith.index_cast %t : index to i32
  %sum = gpu.subgroup_reduce add %x : (i32) -> i32
  %is_first = arith.cmpi eq, %t, %c0 : index
  scf.if %is_first {
    memref.store %sum, %out[%c0] : memref<1xi32>
  }
  return
}

// A barrier of the warp orders the lanes that its mask names, which may be a part of the warp, and no others.
//
// RUN: async-sim %s --kernel=halves --block=32 | FileCheck %s --check-prefix=HALVES
// RUN: not async-sim %s --kernel=each_alone --block=32 | FileCheck %s --check-prefix=ALONE
// RUN: not async-sim %s --kernel=one_has_ended --block=32 | FileCheck %s --check-prefix=ENDED
// RUN: async-sim %s --kernel=half_a_shuffle --block=32 | FileCheck %s --check-prefix=SHUFFLE
// HALVES: halves: clean
func.func @halves(%out: memref<32xf32>) {
  %s = memref.alloc() : memref<32xf32, 3>
  %lower = arith.constant 0x0000FFFF : i32
  %upper = arith.constant 0xFFFF0000 : i32
  %c16 = arith.constant 16 : index
  %c15 = arith.constant 15 : index
  %c47 = arith.constant 47 : index
  %x = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  memref.store %x, %s[%t] : memref<32xf32, 3>
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    nvvm.bar.warp.sync %lower : i32
    %mirror = arith.subi %c15, %t : index
    %y = memref.load %s[%mirror] : memref<32xf32, 3>
    memref.store %y, %out[%t] : memref<32xf32>
  } else {
    nvvm.bar.warp.sync %upper : i32
    %mirror = arith.subi %c47, %t : index
    %y = memref.load %s[%mirror] : memref<32xf32, 3>
    memref.store %y, %out[%t] : memref<32xf32>
  }
  gpu.barrier
  return
}

// ALONE: error: RAW race: memref.load reads what another thread wrote
func.func @each_alone() {
  %s = memref.alloc() : memref<32xf32, 3>
  %one = arith.constant 1 : i32
  %c31 = arith.constant 31 : index
  %x = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  memref.store %x, %s[%t] : memref<32xf32, 3>
  %lane = arith.index_cast %t : index to i32
  %mask = arith.shli %one, %lane : i32
  nvvm.bar.warp.sync %mask : i32
  %mirror = arith.subi %c31, %t : index
  %y = memref.load %s[%mirror] : memref<32xf32, 3>
  return
}

// ENDED: error: RAW race: memref.load reads what another thread wrote
// ENDED: against: memref.store {{.*}} thread 31 of block 0
func.func @one_has_ended() {
  %s = memref.alloc() : memref<32xf32, 3>
  %all = arith.constant -1 : i32
  %c31 = arith.constant 31 : index
  %x = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  memref.store %x, %s[%t] : memref<32xf32, 3>
  %is_last = arith.cmpi eq, %t, %c31 : index
  cf.cond_br %is_last, ^end, ^goes_on
^goes_on:
  nvvm.bar.warp.sync %all : i32
  %y = memref.load %s[%c31] : memref<32xf32, 3>
  cf.br ^end
^end:
  return
}

// The first 16 lanes shuffle among themselves.
// SHUFFLE: half_a_shuffle: clean
func.func @half_a_shuffle(%x: f32) {
  %c1 = arith.constant 1 : i32
  %w16 = arith.constant 16 : i32
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %is_lower = arith.cmpi ult, %t, %c16 : index
  scf.if %is_lower {
    %y, %valid = gpu.shuffle xor %x, %c1, %w16 : f32
  }
  gpu.barrier
  return
}
