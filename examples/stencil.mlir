// A stencil along the rows of an image: out[y, x] = sum over d of weights[d] * in[y, x + d]. The image and the number of weights have
// any size; `in` has as many columns more than `out` as the stencil reaches beyond a tile, the halo. The loop is the one that is meant:
// copy a row of the tile with its halo, wait for the other threads, use it.
//
//   async-opt stencil.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa pipeline=true" | async-translate --ptx
//   async-sim stencil.mlir --grid=2 --arg 0=6x600:random --arg 1=7:random --arg 2=6x594:zero
//
// Three stages are asked for, so two rows are in flight. How often a thread copies depends on the thread, the tile and the halo: the
// loop that copies has an unknown number of iterations. Its copies are one group all the same.
//
// Waits, in program order: 0 where there are fewer than two rows; 1 for a row of a longer image, and 1 and 0 for the last two.
// One barrier a row.
//
// Launch: one block of 128 threads for each 512 columns of `out`; at most 129 weights.

!Image = memref<?x?xf32>
!Line = memref<640xf32, #gpu.address_space<workgroup>>

gpu.module @stencil {
  gpu.func @stencil(%in: !Image, %weights: memref<?xf32>, %out: !Image) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0.0 : f32
    %line = memref.alloc() : !Line

    %block = gpu.block_id x
    %tid = gpu.thread_id x
    %first = arith.muli %block, %c512 : index
    %rows = memref.dim %out, %c0 : !Image
    %cols = memref.dim %out, %c1 : !Image
    %taps = memref.dim %weights, %c0 : memref<?xf32>
    %left = arith.subi %cols, %first : index
    %width = arith.minui %left, %c512 : index
    %halo = arith.subi %taps, %c1 : index
    %staged = arith.addi %width, %halo : index

    scf.for %y = %c0 to %rows step %c1 {
      scf.for %x = %tid to %staged step %c128 {
        %from = arith.addi %first, %x : index
        %v = memref.load %in[%y, %from] : !Image
        memref.store %v, %line[%x] : !Line
      }
      gpu.barrier
      scf.for %x = %tid to %width step %c128 {
        %sum = scf.for %d = %c0 to %taps step %c1 iter_args(%before = %zero) -> (f32) {
          %at = arith.addi %x, %d : index
          %v = memref.load %line[%at] : !Line
          %w = memref.load %weights[%d] : memref<?xf32>
          %after = math.fma %w, %v, %before : f32
          scf.yield %after : f32
        }
        %to = arith.addi %first, %x : index
        memref.store %sum, %out[%y, %to] : !Image
      }
      gpu.barrier
    } {async.num_stages = 3 : i64}
    gpu.return
  }
}
