// A gpu.launch is a kernel. What its host computes is computed again; what it makes otherwise is an argument.
//
// RUN: async-sim %s --kernel=host --arg 0=zero --arg 1=3 --arg 2=ramp --print | FileCheck %s --check-prefix=HOST
// RUN: async-sim %s --kernel=host --arg 0=zero --arg 1=3 2>&1 | FileCheck %s --check-prefix=NOTE
// RUN: not async-sim %s --kernel=two_launches | FileCheck %s --check-prefix=TWO
// RUN: async-sim %s --kernel=two_launches_kernel_0 | FileCheck %s --check-prefix=SECOND
// RUN: async-sim %s --kernel=sizes --block=8 --grid=2 --arg 0=zero --print | FileCheck %s --check-prefix=SIZES
// RUN: not async-sim %s --kernel=clusters 2>&1 | FileCheck %s --check-prefix=CLUSTERS

// HOST: host_kernel: clean (1 run of 2 blocks of 4 threads
// HOST: argument 0: 6 9 12 15 18 21 24 27
// HOST: argument 2: 0 1 2 3 4 5 6 7
// NOTE: note: what memref.alloc makes at {{.*}}launch.mlir:[[#@LINE+4]]:10 is argument 2 of host_kernel
func.func @host(%out: memref<8xindex>, %n: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %buf = memref.alloc() : memref<8xindex>
  %view = memref.reinterpret_cast %buf to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xindex> to memref<2x4xindex>
  %two = arith.addi %c1, %c1 : index
  %c2 = arith.constant 2 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1)
             workgroup(%s: memref<4xindex, 3>) {
    %x = memref.load %view[%bx, %tx] : memref<2x4xindex>
    memref.store %x, %s[%tx] : memref<4xindex, 3>
    %y = memref.load %s[%tx] : memref<4xindex, 3>
    %sum = arith.addi %y, %two : index
    %product = arith.muli %sum, %n : index
    %offset = arith.muli %bx, %sx : index
    %i = arith.addi %offset, %tx : index
    memref.store %product, %out[%i] : memref<8xindex>
    gpu.terminator
  }
  memref.dealloc %buf : memref<8xindex>
  return
}

// The first one lacks a barrier.
// TWO: error: RAW race: memref.load reads what another thread wrote
// TWO: two_launches_kernel: not clean
// TWO: two_launches_kernel_0: clean
// SECOND-NOT: two_launches_kernel:
// SECOND: two_launches_kernel_0: clean (1 run of 1 block of 1 thread
func.func @two_launches() {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %bytes = arith.constant 256 : i32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1)
             dynamic_shared_memory_size %bytes {
    %c0 = arith.constant 0 : index
    %c31 = arith.constant 31 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %s = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<32xindex, #gpu.address_space<workgroup>>
    memref.store %tx, %s[%tx] : memref<32xindex, #gpu.address_space<workgroup>>
    %mirror = arith.subi %c31, %tx : index
    %x = memref.load %s[%mirror] : memref<32xindex, #gpu.address_space<workgroup>>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}

// Sizes that the host computes are for the command line.
// SIZES: sizes_kernel: clean (1 run of 2 blocks of 8 threads
// SIZES: argument 0: 2 8
func.func @sizes(%out: memref<2xindex>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %i = arith.addi %bx, %tx : index
    %is_first = arith.cmpi eq, %i, %c0 : index
    scf.if %is_first {
      %one = arith.constant 1 : index
      memref.store %gx, %out[%c0] : memref<2xindex>
      memref.store %sx, %out[%one] : memref<2xindex>
    }
    gpu.terminator
  }
  return
}

// CLUSTERS: error: the interpreter knows no clusters
func.func @clusters() {
  %c1 = arith.constant 1 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c1, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}
