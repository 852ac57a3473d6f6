// What is written is checked before it comes out: each warp does what it did, in the same order, of the same values. Nothing changes if the
// check is turned off.
//
// RUN: async-opt %s --gpux-split-roles --canonicalize | FileCheck %s
// RUN: async-opt %s --gpux-split-roles=verify-result=false --canonicalize | FileCheck %s

!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Warps 0 and 1 add, warps 2 and 3 multiply, and of these the last one counts. What they compute is used in the next iteration.
  //
  // CHECK-LABEL: gpu.func @results
  // CHECK: scf.if
  // CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] =
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[X]], %[[Y]]
  // CHECK-NEXT: memref.store %[[SUM]]
  // CHECK-NEXT: nvvm.barrier id = %{{.*}} number_of_threads =
  // CHECK-NEXT: scf.yield %[[Y]], %[[SUM]]
  // CHECK: else
  // CHECK: scf.for {{.*}} iter_args(%[[X:.*]] =
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[X]], %arg2
  // CHECK-NEXT: nvvm.barrier id = %{{.*}} number_of_threads =
  // CHECK-NEXT: scf.yield %[[PRODUCT]]
  // CHECK: else
  // CHECK: scf.for {{.*}} iter_args(%[[X:.*]] =
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[X]], %arg2
  // CHECK-NEXT: nvvm.barrier id = %{{.*}} number_of_threads =
  // CHECK-NEXT: memref.store %[[X]]
  // CHECK-NEXT: scf.yield %[[PRODUCT]]
  // CHECK-NOT: arith.addf
  // CHECK: gpu.return
  gpu.func @results(%n: index, %v: f32, %w: f32, %out: memref<128xf32>) workgroup(%a: !row) kernel
      attributes {gpux.roles, known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c96 = arith.constant 96 : index
    %thread = gpu.thread_id x
    %c64 = arith.constant 64 : index
    %adds = arith.cmpi ult, %thread, %c64 : index
    %counts = arith.cmpi uge, %thread, %c96 : index
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %v, %y = %w) -> (f32, f32) {
      %s:2 = scf.if %adds -> (f32, f32) {
        %sum = arith.addf %x, %y : f32
        memref.store %sum, %a[%thread] : !row
        scf.yield %y, %sum : f32, f32
      } else {
        %product = arith.mulf %x, %y : f32
        scf.yield %product, %y : f32, f32
      }
      gpu.barrier
      scf.if %counts {
        memref.store %x, %out[%thread] : memref<128xf32>
      }
      scf.yield %s#0, %s#1 : f32, f32
    }
    scf.if %adds {
      memref.store %r#0, %out[%thread] : memref<128xf32>
    }
    gpu.return
  }

  // One thread of warp 1 issues; warp 0 does without.
  //
  // CHECK-LABEL: gpu.func @elected
  // CHECK: %[[LEADER:.*]] = gpux.elect {warp = 1 : i32}
  // CHECK: scf.if
  // CHECK-NOT: scf.if %[[LEADER]]
  // CHECK: memref.store
  // CHECK: else
  // CHECK: scf.if %[[LEADER]]
  // CHECK: gpu.return
  gpu.func @elected(%v: f32, %out: memref<64xf32>) kernel attributes {gpux.roles, known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %warp = gpu.subgroup_id : index
    %first = arith.cmpi ult, %warp, %c1 : index
    %leader = gpux.elect {warp = 1 : i32}
    scf.if %first {
      memref.store %v, %out[%c0] : memref<64xf32>
    }
    scf.if %leader {
      memref.store %v, %out[%c1] : memref<64xf32>
    }
    scf.if %first {
      memref.store %v, %out[%warp] : memref<64xf32>
    }
    gpu.return
  }

  // The number of a thread may be read from its register, too.
  //
  // CHECK-LABEL: gpu.func @special_register
  // CHECK: scf.if
  // CHECK-NEXT: memref.store %arg0
  // CHECK-NEXT: memref.store %arg0
  // CHECK-NEXT: } else {
  // CHECK-NEXT: memref.store %arg1
  // CHECK: gpu.return
  gpu.func @special_register(%v: f32, %w: f32, %out: memref<64xf32>) kernel
      attributes {gpux.roles, known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi ult, %thread, %c32 : i32
    scf.if %first {
      memref.store %v, %out[%c0] : memref<64xf32>
    } else {
      memref.store %w, %out[%c1] : memref<64xf32>
    }
    scf.if %first {
      memref.store %v, %out[%c1] : memref<64xf32>
    }
    gpu.return
  }
}
