// out[b] = sum of rows of a table, chosen by indices: an embedding bag. The loop is the one that is meant: load an index, copy the
// row that it names, add it.
//
//   async-opt gather.mlir --gpux-lower-to-nvvm="chip=sm_80 format=isa pipeline=true" | async-translate --ptx
//   async-sim gather.mlir --grid=2 --arg 0=24x512:random --arg 1=2x12:ramp --arg 2=2x512:zero
//
// Four stages are asked for. An index has to be there before the copy can start, so it is loaded a round earlier; a row is added two
// rounds after its copy has started. It has three slots. No thread reads what another one has copied, so there is no barrier.
//
// Waits, in program order: 1 where a pipeline has begun, 0 for the last row; 0 where there are fewer than three rows.
//
// Launch: one block of 128 threads for each bag; rows of 512 numbers, each thread has four of them.

!Table = memref<?x512xf32>
!Indices = memref<?x?xindex>
!Row = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @gather {
  gpu.func @sum_of_rows(%table: !Table, %indices: !Indices, %out: !Table) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %bag = gpu.block_id x
    %tid = gpu.thread_id x
    %col = arith.muli %tid, %c4 : index
    %row = memref.alloc() : !Row
    %n = memref.dim %indices, %c1 : !Indices
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> (vector<4xf32>) {
      %from = memref.load %indices[%bag, %i] : !Indices
      %token = gpux.copy async %table[%from, %col], %row[%col], 4 {bypass_l1} : !Table to !Row
      async.await %token
      %x = vector.load %row[%col] {alignment = 16 : i64} : !Row, vector<4xf32>
      %after = arith.addf %before, %x : vector<4xf32>
      scf.yield %after : vector<4xf32>
    } {async.num_stages = 4 : i64}
    vector.store %sum, %out[%bag, %col] {alignment = 16 : i64} : !Table, vector<4xf32>
    gpu.return
  }
}
