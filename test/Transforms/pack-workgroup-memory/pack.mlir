// All workgroup memory of a kernel is in one allocation: attributions, globals, allocations and views of dynamic memory.
// Buffers that are not in use at the same time share bytes.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MAP
// RUN: FileCheck %s --input-file %t.mlir --implicit-check-not="workgroup(" --implicit-check-not=memref.alloc --implicit-check-not=memref.dealloc
// RUN: async-opt %s --gpux-pack-workgroup-memory=share=free 2>/dev/null | async-sim --kernel=chain --arg 0=64:ramp --print | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-pack-workgroup-memory=share=none 2>&1 | FileCheck %s --check-prefix=NONE

!Global = memref<?xf32>
!Dst = memref<64xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>
!Half = memref<64xf16, #gpu.address_space<workgroup>>
!Bytes = memref<?xi8, #gpu.address_space<workgroup>>

// The globals go; so does the size that the launch asked for.
// CHECK-NOT: @shared_tile
// CHECK-NOT: dynamic_shared_memory_size
module attributes {gpu.container_module} {
  func.func @host(%src: !Global, %dst: !Dst) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %bytes = arith.constant 256 : i32
    gpu.launch_func @kernels::@every_kind blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%src : !Global, %dst : !Dst)
    return
  }

  gpu.module @kernels {
    memref.global "private" @shared_tile : !Buffer = uninitialized {alignment = 64 : i64}

    // a, then b, then c: the first and the last share bytes where barriers separate them already.
    // MAP: remark: packs 3 buffers of 768 bytes into 256 bytes of static workgroup memory
    // MAP: note: bytes 0 to 256: workgroup attribution 0, in use from line [[#@LINE+20]] to [[#@LINE+22]]
    // MAP: note: bytes 0 to 256: workgroup attribution 1, in use from line [[#@LINE+23]] to [[#@LINE+25]]
    // MAP: note: bytes 0 to 256: workgroup attribution 2, in use from line [[#@LINE+26]] to [[#@LINE+28]]
    //
    // NONE: remark: packs 3 buffers of 768 bytes into 768 bytes of static workgroup memory
    // SIM: chain: clean
    // SIM: argument 1: 63 62 61
    //
    // CHECK: memref.global "private" @__wg_chain : memref<256xi8, #gpu.address_space<workgroup>> = uninitialized {alignment = 16 : i64}
    // CHECK-LABEL: gpu.func @chain(
    // CHECK-NEXT: %[[ALL:.*]] = memref.get_global @__wg_chain : memref<256xi8, #gpu.address_space<workgroup>>
    // CHECK-NEXT: %[[A_AT:.*]] = arith.constant 0 : index
    // CHECK-NEXT: %[[A:.*]] = memref.view %[[ALL]][%[[A_AT]]][] : memref<256xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    // CHECK: memref.store %{{.*}}, %[[A]]
    gpu.func @chain(%src: !Global, %dst: !Dst) workgroup(%a: !Buffer, %b: !Buffer, %c: !Buffer) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c63 = arith.constant 63 : index
      %t = gpu.thread_id x
      %mirror = arith.subi %c63, %t : index
      %x = memref.load %src[%t] : !Global
      memref.store %x, %a[%t] : !Buffer
      gpu.barrier
      %y = memref.load %a[%mirror] : !Buffer

      memref.store %y, %b[%t] : !Buffer
      gpu.barrier
      %z = memref.load %b[%mirror] : !Buffer

      memref.store %z, %c[%t] : !Buffer
      gpu.barrier
      %w = memref.load %c[%mirror] : !Buffer
      memref.store %w, %dst[%t] : !Dst
      gpu.return
    }

    // Each is in use to the end, so that none shares bytes. The alignments: 16, 64, 16, and 16 of the views, which overlap
    // and stay as far from each other as they were.
    // MAP: remark: packs 4 buffers of 1152 bytes into 1152 bytes of static workgroup memory
    // MAP-DAG: note: bytes {{[0-9]+}} to {{[0-9]+}}: workgroup attribution 0
    // MAP-DAG: note: bytes {{[0-9]+}} to {{[0-9]+}}: global @shared_tile
    // MAP-DAG: note: bytes 0 to 512: the buffer of this 'memref.alloc'
    // MAP-DAG: note: bytes {{[0-9]+}} to {{[0-9]+}}: dynamic memory from byte 0
    //
    // CHECK: memref.global "private" @__wg_every_kind : memref<1152xi8, #gpu.address_space<workgroup>> = uninitialized {alignment = 64 : i64}
    // CHECK-LABEL: gpu.func @every_kind(
    // CHECK-NOT: gpu.dynamic_shared_memory
    // CHECK-NOT: memref.get_global @shared_tile
    // CHECK: gpu.return
    gpu.func @every_kind(%src: !Global, %dst: !Dst) workgroup(%a: !Half, %unused: !Buffer) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %zero = arith.constant 0.0 : f16
      %t = gpu.thread_id x
      %b = memref.get_global @shared_tile : !Buffer
      %c = memref.alloc() : memref<2x64xf32, #gpu.address_space<workgroup>>
      %dynamic = gpu.dynamic_shared_memory : !Bytes
      %d = memref.view %dynamic[%c0][] : !Bytes to !Buffer
      %e = memref.view %dynamic[%c128][] : !Bytes to !Half
      %x = memref.load %src[%t] : !Global
      memref.store %zero, %a[%t] : !Half
      memref.store %x, %b[%t] : !Buffer
      memref.store %x, %c[%c0, %t] : memref<2x64xf32, #gpu.address_space<workgroup>>
      memref.store %x, %d[%t] : !Buffer
      gpu.barrier
      memref.store %zero, %e[%t] : !Half
      %x0 = memref.load %a[%t] : !Half
      %x1 = memref.load %b[%t] : !Buffer
      %x2 = memref.load %c[%c0, %t] : memref<2x64xf32, #gpu.address_space<workgroup>>
      %x3 = memref.load %d[%c0] : !Buffer
      %x4 = memref.load %e[%t] : !Half
      memref.store %x3, %dst[%t] : !Dst
      memref.dealloc %c : memref<2x64xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
}
