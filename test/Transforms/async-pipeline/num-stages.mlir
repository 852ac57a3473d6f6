// A number of stages for loops that say nothing themselves: the innermost ones that fill workgroup memory and can be pipelined.
//
// RUN: async-opt %s --async-pipeline=num-stages=2 2>&1 | FileCheck %s --implicit-check-not="remark: pipelined"
// RUN: async-opt %s --async-pipeline 2>&1 | FileCheck %s --check-prefix=WITHOUT --implicit-check-not=remark
// RUN: not async-opt %s --async-pipeline=num-stages=65 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not async-opt %s --async-pipeline=num-stages=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: async-opt %s --async-pipeline=num-stages=2 --gpux-tokens-to-groups | async-sim - --arg 0=1024:random --arg 1=1024:zero | FileCheck %s --check-prefix=SIM
//
// TOO-MANY: error: 'gpu.func' op can't have loops with 65 stages: num-stages is at most 64
// NEGATIVE: error: 'gpu.func' op can't have loops with -1 stages: num-stages is at most 64
//
// The loop that only copies, inside of the one over tiles, leaves nothing to overlap.
// CHECK: remark: is not pipelined
// CHECK: note: 'scf.for' op does nothing but compute addresses and transfer
// CHECK: remark: pipelined: 1 transfer in stage 0, the rest in stage 1
//
// SIM: two_levels: clean

!Tile = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @two_levels
  // CHECK: gpux.copy async
  // CHECK: scf.for
  // CHECK:   scf.for
  // CHECK:     gpux.copy async
  // CHECK: async.await
  //
  // WITHOUT-LABEL: gpu.func @two_levels
  // WITHOUT: nvgpu.device_async_wait
  gpu.func @two_levels(%in: memref<?xf32>, %out: memref<?xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c63, %t : index
    %a = memref.alloc() : !Tile
    scf.for %i = %c0 to %c512 step %c64 {
      scf.for %row = %c0 to %c64 step %c32 {
        %to = arith.addi %row, %t : index
        %from = arith.addi %i, %to : index
        %copy = nvgpu.device_async_copy %in[%from], %a[%to], 1 : memref<?xf32> to !Tile
      }
      %g = nvgpu.device_async_create_group {empty}
      nvgpu.device_async_wait %g {numGroups = 0 : i32}
      gpu.barrier
      %x = memref.load %a[%mirrored] : !Tile
      %at = arith.addi %i, %t : index
      memref.store %x, %out[%at] : memref<?xf32>
      gpu.barrier
    }
    // Fills nothing.
    scf.for %i = %c0 to %c512 step %c1 {
      %x = memref.load %in[%i] : memref<?xf32>
    }
    gpu.return
  }
}
