// What a bulk copy can't do, and what would take more than the pass can see.
//
// RUN: async-opt %s --async-to-gpux='engine=tma chip=sm_90' --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-NOT: gpux.

gpu.module @shapes {
  gpu.func @gaps(%in: memref<64x64xf32>) workgroup(%s: memref<16x16xf32, 3>) kernel {
    %box = memref.subview %in[0, 0] [16, 16] [1, 1] : memref<64x64xf32> to memref<16x16xf32, strided<[64, 1]>>
    // expected-remark @+2 {{stays synchronous: it has a source with gaps, which takes a tensor map descriptor, and only host code can make one}}
    // expected-note @+1 {{make a descriptor by nvgpu.tma.create.descriptor where the kernel is launched, and write gpux.tma_load}}
    memref.copy %box, %s : memref<16x16xf32, strided<[64, 1]>> to memref<16x16xf32, 3>
    gpu.return
  }
  gpu.func @sizes(%in: memref<512x1024xf32>) workgroup(%s: memref<512x1024xf32, 3>) kernel {
    %little = memref.subview %in[0, 0] [1, 6] [1, 1] : memref<512x1024xf32> to memref<6xf32, strided<[1]>>
    %to = memref.subview %s[0, 0] [1, 6] [1, 1] : memref<512x1024xf32, 3> to memref<6xf32, strided<[1]>, 3>
    // expected-remark @+1 {{stays synchronous: it is of 24 bytes, but a bulk copy is of a multiple of 16, and less than 1 MiB}}
    memref.copy %little, %to : memref<6xf32, strided<[1]>> to memref<6xf32, strided<[1]>, 3>
    // expected-remark @+1 {{stays synchronous: it is of 2097152 bytes, but a bulk copy is of a multiple of 16, and less than 1 MiB}}
    memref.copy %in, %s : memref<512x1024xf32> to memref<512x1024xf32, 3>
    gpu.return
  }
  gpu.func @alignment(%in: memref<512xf32>, %i: index) workgroup(%s: memref<16xf32, 3>) kernel {
    %part = memref.subview %in[%i] [16] [1] : memref<512xf32> to memref<16xf32, strided<[1], offset: ?>>
    // expected-remark @+2 {{stays synchronous: it has a source that is only known to be aligned to 4 bytes, and a bulk copy needs 16}}
    // expected-note @+1 {{say what it is aligned to by memref.assume_alignment}}
    memref.copy %part, %s : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, 3>
    gpu.return
  }
}

// -----

gpu.module @proxies {
  gpu.func @written_before(%in: memref<16xf32>, %x: f32) workgroup(%s: memref<16xf32, 3>) kernel {
    %t = gpu.thread_id x
    // expected-note @+1 {{this may write it}}
    memref.store %x, %in[%t] : memref<16xf32>
    gpu.barrier
    // expected-remark @+2 {{stays synchronous: it may read what the kernel itself writes, which a bulk copy sees only after a proxy fence}}
    // expected-note @+1 {{if both are arguments and never the same buffer, say llvm.noalias of one of them}}
    memref.copy %in, %s : memref<16xf32> to memref<16xf32, 3>
    gpu.return
  }
}
