// A kernel that says how many blocks it is launched with is run with as many.
//
// RUN: async-sim %s --kernel=known --print | FileCheck %s --check-prefix=KNOWN
// RUN: async-sim %s --kernel=known --grid=2 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: async-sim %s --kernel=unknown 2>&1 | FileCheck %s --check-prefix=UNKNOWN

gpu.module @kernels {
  // KNOWN: known: clean (1 run of 3 blocks of 1 thread
  // KNOWN: argument 0: 0 1 2
  // OTHER: note: known says that its grid is of [3, 1, 1] blocks, and is run with one of [2, 1, 1]
  // OTHER: known: clean (1 run of 2 blocks of 1 thread
  gpu.func @known(%dst: memref<3xi32>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 3, 1, 1>} {
    %b = gpu.block_id x
    %number = arith.index_cast %b : index to i32
    memref.store %number, %dst[%b] : memref<3xi32>
    gpu.return
  }

  // UNKNOWN: note: unknown has no known_grid_size, and one block of it is run: --grid runs more
  // UNKNOWN: unknown: clean (1 run of 1 block of 1 thread
  gpu.func @unknown(%dst: memref<3xi32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %b = gpu.block_id x
    %number = arith.index_cast %b : index to i32
    memref.store %number, %dst[%b] : memref<3xi32>
    gpu.return
  }
}
