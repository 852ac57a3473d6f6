// Above 48 KB, the allocation is dynamic memory. Launches at hand ask for it; the module says what it is aligned to.
//
// RUN: async-opt %s --gpux-pack-workgroup-memory -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MAP
// RUN: FileCheck %s --input-file %t.mlir
// RUN: async-sim %t.mlir --kernel=large --block=32 --dynamic-workgroup=49408 | FileCheck %s --check-prefix=SIM

!Large = memref<12288xf32, #gpu.address_space<workgroup>>
!Small = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: func.func @host
// CHECK: %[[BYTES:.*]] = arith.constant 49408 : i32
// CHECK: gpu.launch_func @kernels::@large blocks in {{.*}} dynamic_shared_memory_size %[[BYTES]] args(%{{.*}} : f32)
// What it asked for before is less.
// CHECK: %[[AGAIN:.*]] = arith.constant 49408 : i32
// CHECK: gpu.launch_func async [%{{.*}}] @kernels::@large {{.*}} dynamic_shared_memory_size %[[AGAIN]] args(%{{.*}} : f32)
// CHECK: gpu.launch_func @kernels::@other
// CHECK-NOT: dynamic_shared_memory_size
// CHECK: return
module attributes {gpu.container_module} {
  func.func @host(%x: f32) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %bytes = arith.constant 16 : i32
    gpu.launch_func @kernels::@large blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : f32)
    %start = gpu.wait async
    %done = gpu.launch_func async [%start] @kernels::@large blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%x : f32)
    gpu.launch_func @kernels::@other blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    return
  }

  // MAP: remark: packs 2 buffers of 49408 bytes into 49408 bytes of dynamic workgroup memory: launch the kernel with 49408 bytes
  // MAP: note: bytes 0 to 49152: workgroup attribution 0
  // MAP: note: bytes 49152 to 49408: workgroup attribution 1
  // SIM: large: clean
  //
  // CHECK: gpu.module @kernels attributes {gpux.dynamic_alignment = 512 : i64}
  // CHECK-NOT: memref.global
  // CHECK: %[[ALL:.*]] = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
  // CHECK: %[[AT:.*]] = arith.constant 49152 : index
  // CHECK: memref.view %[[ALL]][%[[AT]]][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
  gpu.module @kernels {
    gpu.func @large(%x: f32) workgroup(%a: !Large, %b: !Small {llvm.align = 512 : i64}) kernel {
      %t = gpu.thread_id x
      memref.store %x, %a[%t] : !Large
      memref.store %x, %b[%t] : !Small
      %y = memref.load %a[%t] : !Large
      %z = memref.load %b[%t] : !Small
      gpu.return
    }
    gpu.func @other() kernel {
      gpu.return
    }
  }
}
