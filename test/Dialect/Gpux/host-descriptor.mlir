// Host code makes a descriptor with upstream's nvgpu.tma.create.descriptor and hands it to a kernel, which is given the
// same type. Of the host's code, our pipeline lowers what is handed over.
//
// RUN: async-opt %s | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=llvm" | FileCheck %s --check-prefix=LOWERED
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_90a format=isa" \
// RUN:   --convert-nvgpu-to-nvvm --gpu-to-llvm --reconcile-unrealized-casts | FileCheck %s --check-prefix=HOST

!tile = !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!slot = memref<16x64xf32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @host
  // CHECK: %[[X:.*]] = nvgpu.tma.create.descriptor
  // CHECK: gpu.launch_func @kernels::@load {{.*}}args(%[[X]] : !nvgpu.tensormap.descriptor<tensor = memref<16x64xf32, 3>
  // LOWERED-LABEL: func.func @host
  // LOWERED: %[[X:.*]] = nvgpu.tma.create.descriptor
  // LOWERED: %[[PTR:.*]] = builtin.unrealized_conversion_cast %[[X]] {{.*}} to !llvm.ptr
  // LOWERED: gpu.launch_func @kernels::@load {{.*}}args(%[[PTR]] : !llvm.ptr, %{{.*}} : memref<64xf32>)
  //
  // HOST-LABEL: llvm.func @host
  // HOST: %[[X:.*]] = llvm.call @mgpuTensorMapEncodeTiledMemref
  // HOST: gpu.launch_func @kernels::@load {{.*}}args(%[[X]] : !llvm.ptr,
  func.func @host(%a: memref<128x64xf32>, %y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %any = memref.cast %a : memref<128x64xf32> to memref<*xf32>
    %x = nvgpu.tma.create.descriptor %any box[%c16, %c64] : memref<*xf32> -> !tile
    gpu.launch_func @kernels::@load blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : !tile, %y : memref<64xf32>)
    return
  }

  gpu.module @kernels {
    // LOWERED: llvm.func @load(%[[MAP:[a-z0-9]+]]: !llvm.ptr, %{{.*}}: !llvm.ptr,
    // LOWERED: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[0-9]+}}, %[[MAP]],
    gpu.func @load(%x: !tile, %y: memref<64xf32>) workgroup(%buf: !slot) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %t = gpu.thread_id x
      %token = gpux.tma_load async %x[%c0, %c0], %buf : !tile, !slot
      async.await %token
      %v = memref.load %buf[%c0, %t] : !slot
      memref.store %v, %y[%t] : memref<64xf32>
      gpu.return
    }
  }
}
