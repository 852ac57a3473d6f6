// What copies become is what upstream makes of its own: the same program in nvgpu, for which gpux-to-nvvm has nothing to
// do, gives the same PTX but for the order of independent instructions. Each function is one shape of address or size.
//
// RUN: async-opt %s --gpux-lower-to-nvvm | async-translate --ptx > %t.ptx
// RUN: sed -E -e "s/%(r|rd)[0-9]+/%\1/g" %t.ptx | sort > %t.ours
// RUN: sed -e "s/gpux.copy/nvgpu.device_async_copy/" -e "s/bypass_l1/bypassL1/" %s > %t.nvgpu.mlir
// RUN: async-opt %t.nvgpu.mlir --gpux-lower-to-nvvm | async-translate --ptx | sed -E -e "s/%(r|rd)[0-9]+/%\1/g" | sort > %t.upstream
// RUN: diff %t.upstream %t.ours
// RUN: FileCheck %s < %t.ptx

!Shared = memref<4x64xf32, #gpu.address_space<workgroup>>

gpu.module @shapes {
  // CHECK-LABEL: .entry static_strides(
  // CHECK: cp.async.ca.shared.global {{.*}}, 16;
  gpu.func @static_strides(%src: memref<128x64xf32>, %i: index, %j: index)
      workgroup(%dst: !Shared {llvm.align = 16 : i64}) kernel {
    gpux.copy %src[%i, %j], %dst[%i, %j], 4 : memref<128x64xf32> to !Shared
    gpu.return
  }

  // CHECK-LABEL: .entry dynamic_shape(
  // CHECK: cp.async.cg.shared.global {{.*}}, 16;
  gpu.func @dynamic_shape(%src: memref<?x?x?xf32>, %i: index, %j: index)
      workgroup(%dst: !Shared {llvm.align = 16 : i64}) kernel {
    gpux.copy %src[%i, %j, %i], %dst[%i, %j], 4 {bypass_l1} : memref<?x?x?xf32> to !Shared
    gpu.return
  }

  // CHECK-LABEL: .entry strided_with_offset(
  // CHECK: cp.async.ca.shared.global {{.*}}, 8;
  gpu.func @strided_with_offset(%src: memref<8x64xf32, strided<[?, 1], offset: ?>>, %i: index, %j: index)
      workgroup(%dst: !Shared {llvm.align = 16 : i64}) kernel {
    gpux.copy %src[%i, %j], %dst[%j, %i], 2 : memref<8x64xf32, strided<[?, 1], offset: ?>> to !Shared
    gpu.return
  }

  // CHECK-LABEL: .entry partial(
  // CHECK: cp.async.cg.shared.global {{.*}}, 16, %r{{[0-9]+}};
  gpu.func @partial(%src: memref<?xf32>, %i: index, %count: index)
      workgroup(%dst: !Shared {llvm.align = 16 : i64}) kernel {
    gpux.copy %src[%i], %dst[%i, %i], 4, %count {bypass_l1} : memref<?xf32> to !Shared
    gpu.return
  }

  // Several of a kind, with some operands in common.
  // CHECK-LABEL: .entry several(
  // CHECK-COUNT-3: cp.async.ca.shared.global {{.*}}, 16
  gpu.func @several(%src: memref<128x64xf32>, %i: index, %j: index, %count: index)
      workgroup(%dst: !Shared {llvm.align = 16 : i64}) kernel {
    %c4 = arith.constant 4 : index
    gpux.copy %src[%i, %j], %dst[%i, %c4], 4 : memref<128x64xf32> to !Shared
    gpux.copy %src[%j, %c4], %dst[%i, %c4], 4 : memref<128x64xf32> to !Shared
    gpux.copy %src[%j, %i], %dst[%j, %c4], 4, %count : memref<128x64xf32> to !Shared
    gpu.return
  }
}
