// A buffer has three slots that tiles take in turn, and one for sums, which affine maps of nothing and of constants name.
//
// RUN: async-opt %s --async-pipeline --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t

!Slots = memref<4x16xi32, #gpu.address_space<workgroup>>
!Slot = memref<16xi32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 2
// CHECK-LABEL: gpu.func @constant_affine_slot
// CHECK:       memref.alloc() : memref<4x16xi32
// CHECK:       scf.for
// CHECK:         async.await
// CHECK:         gpux.copy async
gpu.module @m {
  gpu.func @constant_affine_slot(%a: memref<?xi32>, %c: memref<?xi32>, %n: index) kernel
      attributes {known_block_size = array<i32: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c15, %t : index
    %s = memref.alloc() : !Slots
    memref.store %zero, %s[%c3, %t] : !Slots
    scf.for %i = %c0 to %n step %c1 {
      %tile = arith.muli %i, %c16 : index
      %at = arith.addi %tile, %t : index
      %slot = affine.apply affine_map<(k) -> (k mod 3)>(%i)
      %copy = gpux.copy async %a[%at], %s[%slot, %t], 1 : memref<?xi32> to !Slots
      async.await %copy
      %of_sums = affine.apply affine_map<() -> (3)>()
      %before = memref.load %s[%of_sums, %t] : !Slots
      %x = memref.load %s[%slot, %mirrored] : !Slots
      %sum = arith.addi %before, %x : i32
      %same = affine.apply affine_map<()[s] -> (s mod 4)>()[%c3]
      %sums = memref.subview %s[%same, 0] [1, 16] [1, 1] : !Slots to !Slot
      memref.store %sum, %sums[%t] : !Slot
    } {async.num_stages = 3}
    %sum = memref.load %s[%c3, %t] : !Slots
    memref.store %sum, %c[%t] : memref<?xi32>
    gpu.return
  }
}
