// Linear attention: out[i] = sum over j of (q[i] . k[j]) * v[j], for heads of 32 numbers. The loop is the one that is meant: copy
// 16 keys and 16 values, await the keys, multiply, await the values, multiply.
//
//   async-opt linear_attention.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa pipeline=true" | async-translate --ptx
//   async-sim linear_attention.mlir --grid=2 --arg 0=256x32:random --arg 1=96x32:random --arg 2=96x32:random --arg 3=256x32:zero
//
// Three stages are asked for, so the keys and values of two tiles are in flight. They are groups of their own: while the
// keys are multiplied, the values of the same tile may still be on their way.
//
// Waits, in program order: 3 for the keys of a step (its values and the next tile are in flight) and 4 for its values (two tiles
// are); then 3, 2, 1, 0 in the epilogue, and 1 and 0 where there is a single tile. Two barriers a step.
//
// Launch: one block of 128 threads for each 128 queries, one query a thread; the number of keys is a multiple of 16.

!Mat = memref<?x32xf32>
!Tile = memref<16x32xf32, #gpu.address_space<workgroup>>
!Row = vector<32xf32>

gpu.module @attention {
  gpu.func @linear_attention(%Q: !Mat, %K: !Mat, %V: !Mat, %out: !Mat) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !Row
    %none = arith.constant dense<0.0> : vector<16xf32>
    %Ks = memref.alloc() : !Tile
    %Vs = memref.alloc() : !Tile

    %block = gpu.block_id x
    %tid = gpu.thread_id x
    %first = arith.muli %block, %c128 : index
    %query = arith.addi %first, %tid : index
    %q = vector.load %Q[%query, %c0] {alignment = 16 : i64} : !Mat, !Row
    %row = arith.divui %tid, %c8 : index
    %chunk = arith.remui %tid, %c8 : index
    %col = arith.muli %chunk, %c4 : index

    %keys = memref.dim %K, %c0 : !Mat
    %sum = scf.for %j = %c0 to %keys step %c16 iter_args(%before = %zero) -> (!Row) {
      %from = arith.addi %j, %row : index
      %tk = gpux.copy async %K[%from, %col], %Ks[%row, %col], 4 {bypass_l1} : !Mat to !Tile
      %tv = gpux.copy async %V[%from, %col], %Vs[%row, %col], 4 {bypass_l1} : !Mat to !Tile

      async.await %tk
      gpu.barrier
      %scores = affine.for %i = 0 to 16 iter_args(%others = %none) -> (vector<16xf32>) {
        %k = vector.load %Ks[%i, %c0] {alignment = 16 : i64} : !Tile, !Row
        %products = arith.mulf %q, %k : !Row
        %score = vector.reduction <add>, %products : !Row into f32
        %all = vector.insert %score, %others[%i] : f32 into vector<16xf32>
        affine.yield %all : vector<16xf32>
      }

      async.await %tv
      gpu.barrier
      %after = affine.for %i = 0 to 16 iter_args(%others = %before) -> (!Row) {
        %v = vector.load %Vs[%i, %c0] {alignment = 16 : i64} : !Tile, !Row
        %score = vector.extract %scores[%i] : f32 from vector<16xf32>
        %weight = vector.broadcast %score : f32 to !Row
        %more = vector.fma %weight, %v, %others : !Row
        affine.yield %more : !Row
      }
      gpu.barrier
      scf.yield %after : !Row
    } {async.num_stages = 3 : i64}
    vector.store %sum, %out[%query, %c0] {alignment = 16 : i64} : !Mat, !Row
    gpu.return
  }
}
