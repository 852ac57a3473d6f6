// What is about clusters is refused by name.
//
// RUN: not async-sim %s --kernel=arrives 2>&1 | FileCheck %s --check-prefix=ARRIVES
// RUN: not async-sim %s --kernel=waits 2>&1 | FileCheck %s --check-prefix=WAITS
// RUN: not async-sim %s --kernel=maps 2>&1 | FileCheck %s --check-prefix=MAPS
// RUN: not async-sim %s --kernel=asks 2>&1 | FileCheck %s --check-prefix=ASKS
// RUN: not async-sim %s --kernel=asks_register 2>&1 | FileCheck %s --check-prefix=REGISTER
// RUN: not async-sim %s --kernel=fences 2>&1 | FileCheck %s --check-prefix=FENCES

gpu.module @clusters {
  // ARRIVES: :[[@LINE+2]]:5: error: the interpreter knows no clusters, and so not this 'nvvm.cluster.arrive': run the kernel with blocks that stand alone
  gpu.func @arrives() kernel {
    nvvm.cluster.arrive {aligned}
    gpu.return
  }

  // WAITS: error: the interpreter knows no clusters, and so not this 'nvvm.cluster.wait'
  gpu.func @waits() kernel {
    nvvm.cluster.wait {aligned}
    gpu.return
  }

  // MAPS: error: the interpreter knows no clusters, and so not this 'nvvm.mapa'
  gpu.func @maps() workgroup(%buf: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    %at = memref.extract_aligned_pointer_as_index %buf : memref<4xf32, #gpu.address_space<workgroup>> -> index
    %int = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %int : i64 to !llvm.ptr<3>
    %one = llvm.mlir.constant(1 : i32) : i32
    %there = nvvm.mapa %p, %one : !llvm.ptr<3> -> !llvm.ptr<7>
    gpu.return
  }

  // ASKS: error: the interpreter knows no clusters, and so not this 'gpu.cluster_block_id'
  gpu.func @asks() kernel {
    %id = gpu.cluster_block_id x
    gpu.return
  }

  // REGISTER: error: the interpreter knows no clusters, and so not this 'nvvm.read.ptx.sreg.cluster.nctaid.y'
  gpu.func @asks_register() kernel {
    %n = nvvm.read.ptx.sreg.cluster.nctaid.y : i32
    gpu.return
  }

  // FENCES: error: the interpreter knows no clusters, and so not this 'nvvm.fence.sc.cluster'
  gpu.func @fences() kernel {
    nvvm.fence.sc.cluster
    gpu.return
  }
}
