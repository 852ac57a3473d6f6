// Host code around the kernels stays as it is; a kernel inside of gpu.launch is outlined.
//
// RUN: async-opt %s --gpux-lower-to-nvvm="chip=sm_80 format=isa" | FileCheck %s
// RUN: async-opt %s --gpux-lower-to-nvvm | async-translate --ptx --module=kernels | FileCheck %s --check-prefix=PTX
// RUN: async-opt %s --gpux-lower-to-nvvm | async-translate --ptx --module=host_kernel | FileCheck %s --check-prefix=OUTLINED

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @host
  func.func @host(%a: memref<?xf32>, %n: index) -> index {
    %c1 = arith.constant 1 : index
    // CHECK: affine.apply
    %scaled = affine.apply affine_map<(d0) -> (d0 * 4)>(%n)
    // CHECK: scf.for
    %sum = scf.for %i = %c1 to %n step %c1 iter_args(%x = %scaled) -> index {
      %y = arith.addi %x, %i : index
      scf.yield %y : index
    }
    // CHECK: async.region
    %t = async.region {
      async.yield
    }
    async.await %t
    // CHECK: gpu.launch_func @kernels::@kernel
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%a : memref<?xf32>)
    // CHECK: gpu.launch_func @host_kernel::@host_kernel
    gpu.launch blocks(%bx, %by, %bz) in (%nx = %c1, %ny = %c1, %nz = %c1)
        threads(%tx, %ty, %tz) in (%mx = %n, %my = %c1, %mz = %c1)
        workgroup(%slot : memref<64xf32, #gpu.address_space<workgroup>>) {
      %copied = gpux.copy async %a[%tx], %slot[%tx], 1 : memref<?xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      async.await %copied
      %x = memref.load %slot[%tx] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %x, %a[%tx] : memref<?xf32>
      gpu.terminator
    }
    return %sum : index
  }

  // CHECK-DAG: gpu.binary @host_kernel
  // CHECK-DAG: gpu.binary @kernels
  // PTX: .entry kernel(
  // OUTLINED: .entry host_kernel(
  // OUTLINED: cp.async.wait_group 0;
  gpu.module @kernels {
    gpu.func @kernel(%a: memref<?xf32>) kernel {
      gpu.return
    }
  }
}
