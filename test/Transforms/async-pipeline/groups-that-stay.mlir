// Groups that can't become tokens: the loop stays as it is, and remarks say why.
//
// RUN: async-opt %s --async-pipeline 2>&1 | FileCheck %s
//
// CHECK: remark: queue cp_async stays in counted form: 'func.call' may use the queue; inline it first
// CHECK: remark: is not pipelined
// CHECK: note: 'scf.for' op has copies that are counted in groups, and could not be given tokens
// CHECK: note: one of its operations; a remark says why, and --gpux-groups-to-tokens what has to be so
// CHECK: nvgpu.device_async_wait
// CHECK-NOT: async.num_stages
// CHECK: func.call @other

!Tile = memref<32xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  func.func private @other()
  gpu.func @calls(%in: memref<1024xf32>, %out: memref<1024xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c1024 = arith.constant 1024 : index
    %t = gpu.thread_id x
    %a = memref.alloc() : !Tile
    scf.for %i = %c0 to %c1024 step %c32 {
      %at = arith.addi %i, %t : index
      %c = nvgpu.device_async_copy %in[%at], %a[%t], 1 : memref<1024xf32> to !Tile
      %g = nvgpu.device_async_create_group %c
      nvgpu.device_async_wait %g
      %x = memref.load %a[%t] : !Tile
      memref.store %x, %out[%at] : memref<1024xf32>
    } {async.num_stages = 2}
    func.call @other() : () -> ()
    gpu.return
  }
}
