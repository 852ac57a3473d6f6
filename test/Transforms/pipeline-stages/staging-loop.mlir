// A loop of which it is not known how often it runs copies the tile line by line.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Lines = memref<8x16xi32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @staging_loop
// CHECK:       memref.alloc() {{.*}}: memref<1536xi8
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           gpux.copy async
// CHECK:         scf.for
// CHECK:           memref.load
gpu.module @m {
  gpu.func @staging_loop(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %c4 = arith.constant 4 : index
    %c128 = arith.constant 128 : index
    %s = memref.alloc() : !Lines
    %none = async.ready
    scf.for %i = %c0 to %c4 step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %all = scf.for %k = %c0 to %n step %c1 iter_args(%so_far = %none) -> (!async.token) {
        %line = arith.muli %k, %c128 : index
        %from = arith.addi %line, %at : index
        %copy = gpux.copy async %a[%from], %s[%k, %t], 1 : memref<?xi32> to !Lines
        %with = async.join %so_far, %copy
        scf.yield %with : !async.token
      }
      async.await %all
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero) -> (i32) {
        %x = memref.load %s[%k, %mirrored] : !Lines
        %more = arith.addi %part, %x : i32
        scf.yield %more : i32
      }
      memref.store %sum, %c[%at] : memref<?xi32>
    } {async.num_stages = 3}
    gpu.return
  }
}
