// What the pass writes is checked, and is the same without the check.
//
// RUN: async-opt %s --gpux-insert-barriers -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --gpux-insert-barriers=verify-result=false -o %t.unchecked
// RUN: diff %t %t.unchecked

!Row = memref<32xf32, strided<[1], offset: ?>>
!Tile = memref<32xf32, #gpu.address_space<workgroup>>
!row = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // A barrier that proves that threads come to a loop's end together, and that nothing needs, goes. What it has proven holds all the same.
  // CHECK-LABEL: gpu.func @proven_by_what_goes
  // CHECK: scf.while
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @proven_by_what_goes(%x: f32, %out: memref<64xf32>) workgroup(%s: !row) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c63 = arith.constant 63 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    scf.while : () -> () {
      gpu.barrier
      gpu.barrier
      %voted, %valid = gpu.shuffle idx %one, %zero, %width : i32
      %again = arith.cmpi eq, %voted, %one : i32
      scf.condition(%again)
    } do {
      memref.store %x, %s[%t] : !row
      %v = memref.load %s[%mirrored] : !row
      memref.store %v, %out[%t] : memref<64xf32>
      scf.yield
    }
    gpu.return
  }

  // No barrier can come between an await and a load under one condition. The load of the next iteration is another matter: other threads
  // may have awaited for it.
  // CHECK-LABEL: gpu.func @awaited_under_a_condition
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @awaited_under_a_condition(%x: memref<?x32xf32>, %seen: memref<?xf32>, %n: index, %warps: index) workgroup(%tile: !Tile) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %warp = gpu.subgroup_id : index
    %reads = arith.cmpi ult, %warp, %warps : index
    scf.for %i = %c0 to %n step %c1 {
      %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<?x32xf32> to !Row
      %t = gpux.bulk_load async %from, %tile {issuer = 1 : i32} : !Row to !Tile
      scf.if %reads {
        async.await %t
        %v = memref.load %tile[%c0] : !Tile
        memref.store %v, %seen[%i] : memref<?xf32>
      }
    }
    gpu.return
  }
}
