// RUN: async-opt %s --async-pipeline="memory=fewer-stages" --mlir-print-op-on-diagnostic=false -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --async-pipeline="memory=fewer-stages chip=sm_90" 2>&1 | FileCheck %s --check-prefix=LARGE

// Four versions of 64 KiB are too many for one block; as many stages are made as fit, or none.

!Tile = memref<16384xf32, #gpu.address_space<workgroup>>

// SAID: remark: pipelined: 1 transfer in stage 0, the rest in stage 1; has 2 stages instead of 4, since memory is too small for 3
// LARGE: remark: pipelined: 1 transfer in stage 0, the rest in stage 2; has 3 stages instead of 4, since memory is too small for 4

// SAID: remark: is not pipelined
// SAID: note: 'scf.for' op needs 262144 bytes for the versions of its buffers, but a block has at most 166912 on sm_80
// SAID: note: 2 versions of 131072 bytes

// CHECK: memref.alloc() {{.*}}: memref<131072xi8
// CHECK: memref.alloc() : memref<32768xf32
gpu.module @m {
  gpu.func @two_stages(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : !Tile
    scf.for %i = %c0 to %n step %c1 {
      %copy = gpux.copy async %a[%i], %s[%c0], 1 : memref<?xf32> to !Tile
      async.await %copy
      %x = memref.load %s[%c0] : !Tile
      memref.store %x, %c[%i] : memref<?xf32>
    } {async.num_stages = 4}
    gpu.return
  }

  gpu.func @none(%a: memref<?xf32>, %c: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.alloc() : memref<32768xf32, #gpu.address_space<workgroup>>
    scf.for %i = %c0 to %n step %c1 {
      %copy = gpux.copy async %a[%i], %s[%c0], 1 : memref<?xf32> to memref<32768xf32, #gpu.address_space<workgroup>>
      async.await %copy
      %x = memref.load %s[%c0] : memref<32768xf32, #gpu.address_space<workgroup>>
      memref.store %x, %c[%i] : memref<?xf32>
    } {async.num_stages = 4}
    gpu.return
  }
}
