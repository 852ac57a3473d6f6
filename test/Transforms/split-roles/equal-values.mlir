// What is the same for the check of roles: values of blocks that are written after those that use them, and a barrier of some memory and
// one of all.
// RUN: async-opt %s --gpux-split-roles | FileCheck %s

!shared = memref<128xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @defined_below
// CHECK: nvvm.barrier
gpu.module @blocks {
  gpu.func @defined_below(%v: f32, %w: f32, %out: memref<128xf32>) kernel attributes {gpux.roles, known_block_size = array<i32: 128, 1, 1>} {
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %is_low = arith.cmpi ult, %t, %c64 : index
    scf.if %is_low {
      memref.store %v, %out[%t] : memref<128xf32>
    }
    gpu.barrier
    scf.execute_region {
      cf.br ^first
    ^second:
      memref.store %sum, %out[%t] : memref<128xf32>
      scf.yield
    ^first:
      %sum = arith.addf %v, %w : f32
      cf.br ^second
    }
    scf.if %is_low {
      memref.store %w, %out[%t] : memref<128xf32>
    }
    gpu.return
  }
}

// CHECK-LABEL: gpu.func @barrier_of_some_memory
// CHECK: nvvm.barrier
gpu.module @barriers {
  gpu.func @barrier_of_some_memory(%v: f32, %w: f32, %out: memref<128xf32>) workgroup(%a: !shared) kernel attributes {gpux.roles, known_block_size = array<i32: 128, 1, 1>} {
    %c64 = arith.constant 64 : index
    %c127 = arith.constant 127 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c127, %t : index
    %is_low = arith.cmpi ult, %t, %c64 : index
    scf.if %is_low {
      memref.store %v, %a[%t] : !shared
    } else {
      memref.store %w, %a[%t] : !shared
    }
    gpu.barrier {address_spaces = [#gpu.address_space<workgroup>]}
    scf.if %is_low {
      %x = memref.load %a[%mirrored] : !shared
      memref.store %x, %out[%t] : memref<128xf32>
    }
    gpu.return
  }
}
