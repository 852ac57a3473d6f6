// Of a ring with a slot for each load, the check tells apart which of them were waited for, and where the iterations of both loops matter, too, it
// may be too much. It says so: that is no fault of the code.
//
// RUN: not async-opt %s --gpux-tokens-to-mbarriers 2>&1 | FileCheck %s
// CHECK: error: 'nvgpu.mbarrier.create' op has mbarriers with more states than can be looked at, says the check of what was written
// CHECK: note: nothing is known to be wrong with it: verify-result=false has it come out unchecked
//
// RUN: async-opt %s --gpux-tokens-to-mbarriers=verify-result=false -o %t.mlir
// RUN: async-sim %t.mlir --refines=%s --arg 1=1 --arg 2=1 | FileCheck %s --check-prefix=CLEAN
// CLEAN: k: clean

gpu.module @m {
gpu.func @k(%src: memref<32xf32>, %p: i1, %q: i1) workgroup(%d0: memref<32xf32, 3>, %d1: memref<32xf32, 3>, %d2: memref<32xf32, 3>, %d3: memref<32xf32, 3>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %first = gpux.bulk_load async %src, %d0 : memref<32xf32> to memref<32xf32, 3>
  scf.for %i = %c0 to %c7 step %c1 {
    %a = gpux.bulk_load async %src, %d1 : memref<32xf32> to memref<32xf32, 3>
    %b = gpux.bulk_load async %src, %d2 : memref<32xf32> to memref<32xf32, 3>
    %x, %y = scf.for %j = %c0 to %c7 step %c1 iter_args(%u = %first, %v = %a) -> (!async.token, !async.token) {
      %both = async.join %b, %v
      scf.if %p {
        async.await %both
      }
      scf.yield %v, %u : !async.token, !async.token
    }
    %ne = arith.cmpi ne, %i, %c2 : index
    %z = scf.if %ne -> (!async.token) {
      scf.yield %b : !async.token
    } else {
      %w = scf.if %q -> (!async.token) {
        %new = gpux.bulk_load async %src, %d3 : memref<32xf32> to memref<32xf32, 3>
        scf.yield %new : !async.token
      } else {
        scf.yield %x : !async.token
      }
      async.await %w
      scf.yield %y : !async.token
    }
    async.await %z
  }
  gpu.return
}
}
