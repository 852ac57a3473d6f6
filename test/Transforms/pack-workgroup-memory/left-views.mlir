// Views of dynamic memory that don't overlap become buffers of their own, unless one of them is left: then a cast of the one may show
// the other, so all stay as far from each other as they were.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory 2>/dev/null | FileCheck %s
// RUN: async-sim %s --kernel=cast_to_the_next_view --block=64 --dynamic-workgroup=1280 --arg 0=1 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-pack-workgroup-memory 2>/dev/null | async-sim - --kernel=cast_to_the_next_view --block=64 --arg 0=1 | FileCheck %s --check-prefix=SIM

!bytes = memref<?xi8, #gpu.address_space<workgroup>>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!at_256 = memref<64xf32, strided<[1], offset: 256>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK: memref.global {{.*}}@__wg_apart : memref<512xi8
  // CHECK: memref.global {{.*}}@__wg_cast_to_the_next_view : memref<1280xi8
  gpu.func @apart(%x: f32, %out: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %t = gpu.thread_id x
    %dynamic = gpu.dynamic_shared_memory : !bytes
    %a = memref.view %dynamic[%c0][] : !bytes to !row
    %b = memref.view %dynamic[%c1024][] : !bytes to !row
    memref.store %x, %a[%t] : !row
    memref.store %x, %b[%t] : !row
    %y = memref.load %a[%t] : !row
    %z = memref.load %b[%t] : !row
    %sum = arith.addf %y, %z : f32
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }

  // SIM: cast_to_the_next_view: clean
  gpu.func @cast_to_the_next_view(%x: f32, %out: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %t = gpu.thread_id x
    %dynamic = gpu.dynamic_shared_memory : !bytes
    %a = memref.view %dynamic[%c0][] : !bytes to !row
    %b = memref.view %dynamic[%c1024][] : !bytes to !row
    %cast = memref.reinterpret_cast %a to offset: [256], sizes: [64], strides: [1] : !row to !at_256
    memref.store %x, %a[%t] : !row
    memref.store %x, %cast[%t] : !at_256
    %y = memref.load %a[%t] : !row
    %z = memref.load %b[%t] : !row
    %sum = arith.addf %y, %z : f32
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }
}
