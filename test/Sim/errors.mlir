// What can't be run ends the run, at the operation.
//
// RUN: not async-sim %s --kernel=outside | FileCheck %s --check-prefix=OUTSIDE
// RUN: not async-sim %s --kernel=misaligned --arg 1=1 | FileCheck %s --check-prefix=MISALIGNED
// RUN: not async-sim %s --kernel=zero | FileCheck %s --check-prefix=ZERO
// RUN: not async-sim %s --kernel=endless --budget=1000 | FileCheck %s --check-prefix=ENDLESS
// RUN: not async-sim %s --kernel=unknown 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not async-sim %s --kernel=host 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not async-sim %s --kernel=open 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not async-sim %s --kernel=open --arg 0=9223372036854775807:zero 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not async-sim %s --kernel=open --block=65536,65536 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not async-sim %s --kernel=nothing 2>&1 | FileCheck %s --check-prefix=NOTHING

!src = memref<16xf32>
!dst = memref<16xf32, #gpu.address_space<workgroup>>

// OUTSIDE: errors.mlir:[[#@LINE+5]]:8: error: memref.load: index 16 is out of bounds: dimension 0 of this view of argument 0 has size 16
// OUTSIDE-NEXT: this: thread 16 of block 0
func.func @outside(%src: !src)
    attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
  %t = gpu.thread_id x
  %x = memref.load %src[%t] : !src
  return
}

// MISALIGNED: error: gpux.copy: byte 4 of argument 0 is no multiple of 16, which the access needs
func.func @misaligned(%src: !src, %i: index) {
  %dst = memref.alloc() : !dst
  %c0 = arith.constant 0 : index
  gpux.copy %src[%i], %dst[%c0], 4 : !src to !dst
  return
}

// ZERO: error: arith.divui: division by zero
func.func @zero(%n: index) {
  %x = arith.subi %n, %n : index
  %y = arith.divui %n, %x : index
  return
}

// ENDLESS: error: {{.*}} the thread has run longer than its budget allows; does it end?
func.func @endless() {
  cf.br ^loop
^loop:
  cf.br ^loop
}

// UNKNOWN: errors.mlir:[[#@LINE+3]]:12: error: the interpreter does not know 'gpu.rotate'
// UNKNOWN: %x, %z = gpu.rotate
func.func @unknown(%y: i32) {
  %x, %z = gpu.rotate %y, 1, 16 : i32
  return
}

// RUN: not async-sim %s --kernel=time 2>&1 | FileCheck %s --check-prefix=TIME
// TIME: error: what 'nvvm.read.ptx.sreg.clock' reads differs from run to run: take it out, since no result may depend on it
func.func @time() {
  %x = nvvm.read.ptx.sreg.clock : i32
  return
}

// HOST: errors.mlir:[[#@LINE+9]]:5: error: 'gpu.launch_func' is host code: run the kernel itself
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
  func.func @host() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @device::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}

// OPEN: async-sim: open: the type of argument 0 leaves sizes open: say how large the buffers are, and what they hold, as in --arg 0=64:random
func.func @open(%src: memref<?xf32>) {
  return
}

// All at once, as they can be typed. Integers may be indices.
// RUN: not async-sim %s --kernel=all_open --arg 4=8:zero 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: async-sim: all_open: the types of arguments 0, 2 and 3 leave sizes open: say how large the buffers are, and what they hold, as in --arg 0=64:random --arg 2=64x4:zero --arg 3=64x64:random
func.func @all_open(%src: memref<?xf32>, %n: index, %rows: memref<?x4xindex>, %dst: memref<?x?xf16>, %given: memref<?xf32>) {
  return
}

// NOTHING: async-sim: there is no kernel named 'nothing'

// HUGE: async-sim: argument 0: no buffers are that large here
// BLOCK: async-sim: a block has 1 to 1024 threads

// RUN: not async-sim %s --kernel=no_block 2>&1 | FileCheck %s --check-prefix=NO-BLOCK
// NO-BLOCK: async-sim: no_block: known_grid_size has a 0, so no block would run: give --grid
gpu.module @no_blocks {
  gpu.func @no_block() kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 2, 0, 1>} {
    gpu.return
  }
}

// RUN: not async-sim %s --kernel=negative_block 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: errors.mlir:[[#@LINE+1]]:1: error: 'gpu.known_block_size' has to be three numbers, each 1 or more
func.func @negative_block() attributes {gpu.known_block_size = array<i32: -4, 1, 1>} {
  return
}

// RUN: not async-sim %s --kernel=empty_block 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: 'gpu.known_block_size' has to be three numbers, each 1 or more
func.func @empty_block() attributes {gpu.known_block_size = array<i32: 0, 1, 1>} {
  return
}

// What has no room is refused where it stands.
// RUN: not async-sim %s --kernel=huge_constant 2>&1 | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: errors.mlir:[[#@LINE+2]]:8: error: vector<1000000000xf32> has no room in a thread: at most 65536 numbers have
func.func @huge_constant() {
  %v = arith.constant dense<1.0> : vector<1000000000xf32>
  return
}

// RUN: not async-sim %s --kernel=huge_broadcast 2>&1 | FileCheck %s --check-prefix=BROADCAST
// BROADCAST: error: vector<100000x100000x100000x100000x100000xf32> has no room in a thread
func.func @huge_broadcast(%x: f32) {
  %v = vector.broadcast %x : f32 to vector<100000x100000x100000x100000x100000xf32>
  return
}

// RUN: not async-sim %s --kernel=huge_alloca 2>&1 | FileCheck %s --check-prefix=ALLOCA
// ALLOCA: error: memref.alloca: there is no room for a buffer of this size: all of them have 1 GiB
func.func @huge_alloca() {
  %m = memref.alloca() : memref<4000000000x4000000000xf32>
  return
}

// RUN: not async-sim %s --kernel=huge_global 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: error: a buffer of type memref<100000000000xf32> is too large: all of them have 1 GiB
memref.global "private" constant @huge : memref<100000000000xf32> = dense<1.0>
func.func @huge_global() {
  %m = memref.get_global @huge : memref<100000000000xf32>
  return
}

// Of two files, an error says which one it is about.
// RUN: not async-sim %s --kernel=sized --refines=%s --arg 0=8:zero 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: async-sim: {{.*}}errors.mlir: argument 0: size 8 is not what the type says
func.func @sized(%x: memref<4xf32>) {
  return
}
