// Blocks are not ordered, and each has workgroup memory of its own.
//
// RUN: not async-sim %s --kernel=written_by_one --block=4 --grid=2 --arg 2=3 | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=written_by_one --block=4 --grid=2 --arg 2=7 | FileCheck %s --check-prefix=RACE
// RUN: async-sim %s --kernel=added_up --block=4 --grid=2 --arg 0=zero --print | FileCheck %s --check-prefix=ATOMIC
// RUN: async-sim %s --kernel=own_memory --block=4 --grid=2 | FileCheck %s --check-prefix=OWN
// RUN: async-sim %s --kernel=own_memory 2>&1 | FileCheck %s --check-prefix=ALONE

// All threads read what one of them writes, be it of the first block or the second.
// RACE: error: {{RAW|WAR}} race: memref.{{load|store}} {{reads|writes}} what another block {{reads|writes}}
// RACE: help: blocks are not ordered
func.func @written_by_one(%g: memref<1xf32>, %out: memref<8xf32>, %who: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %i = gpu.global_id x
  %x = memref.load %g[%c0] : memref<1xf32>
  memref.store %x, %out[%i] : memref<8xf32>
  gpu.barrier
  %writes = arith.cmpi eq, %i, %who : index
  scf.if %writes {
    memref.store %one, %g[%c0] : memref<1xf32>
  }
  return
}

// ATOMIC: added_up: clean (1 run of 2 blocks of 4 threads
// ATOMIC: argument 0: 28
func.func @added_up(%sum: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %i = gpu.global_id x
  %value = arith.index_cast %i : index to i32
  %old = memref.atomic_rmw addi %value, %sum[%c0] : (i32, memref<1xi32>) -> i32
  return
}

// OWN: own_memory: clean (1 run of 2 blocks of 4 threads
// ALONE: note: own_memory has no known_block_size, and is run by one thread: --block gives it more
func.func @own_memory(%s: memref<4xf32, #gpu.address_space<workgroup>>) {
  %one = arith.constant 1.0 : f32
  %t = gpu.thread_id x
  memref.store %one, %s[%t] : memref<4xf32, #gpu.address_space<workgroup>>
  return
}
