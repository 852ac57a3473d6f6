// Workgroup memory that a kernel allocates is one global for the whole block, and nothing frees it.
//
// RUN: async-opt %s --gpux-allocs-to-globals | FileCheck %s

!Global = memref<?xf32>
!Buffer = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @straight
gpu.module @straight {
  memref.global "private" @__wg_kernel_alloc_0 : !Buffer

  // Names that are taken stay.
  // CHECK: memref.global "private" @__wg_kernel_alloc_1 : memref<64xf32, #gpu.address_space<workgroup>> = uninitialized {alignment = 128 : i64}
  // CHECK-NEXT: memref.global "private" @__wg_kernel_alloc_2 : memref<32xf32, 3> = uninitialized
  // CHECK-NEXT: gpu.func @kernel
  // CHECK-NEXT: %[[A:.*]] = memref.get_global @__wg_kernel_alloc_1 : memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK-NEXT: %[[B:.*]] = memref.get_global @__wg_kernel_alloc_2 : memref<32xf32, 3>
  // What is each thread's own, and the heap's, stays.
  // CHECK-NEXT: memref.alloca() : memref<4xf32>
  // CHECK-NEXT: %[[HEAP:.*]] = memref.alloc() : memref<4xf32>
  // CHECK-NEXT: gpux.copy %{{.*}}, %[[A]]
  // CHECK-NEXT: memref.load %[[B]]
  // CHECK-NEXT: memref.dealloc %[[HEAP]]
  // CHECK-NEXT: gpu.return
  gpu.func @kernel(%src: !Global, %i: index) kernel {
    %a = memref.alloc() {alignment = 128 : i64} : !Buffer
    %b = memref.alloca() : memref<32xf32, 3>
    %own = memref.alloca() : memref<4xf32>
    %heap = memref.alloc() : memref<4xf32>
    gpux.copy %src[%i], %a[%i], 4 : !Global to !Buffer
    %x = memref.load %b[%i] : memref<32xf32, 3>
    memref.dealloc %a : !Buffer
    memref.dealloc %heap : memref<4xf32>
    gpu.return
  }

  // The other one has buffers of its own, one for each arm.
  // CHECK: memref.global "private" @__wg_other_alloc_0
  // CHECK: memref.global "private" @__wg_other_alloc_1
  // CHECK-LABEL: gpu.func @other
  // CHECK: scf.if
  // CHECK-NEXT: memref.get_global @__wg_other_alloc_0
  // CHECK: else
  // CHECK-NEXT: memref.get_global @__wg_other_alloc_1
  gpu.func @other(%src: !Global, %i: index, %p: i1) kernel {
    %m = scf.if %p -> !Buffer {
      %a = memref.alloc() : !Buffer
      scf.yield %a : !Buffer
    } else {
      %a = memref.alloc() : !Buffer
      scf.yield %a : !Buffer
    }
    gpux.copy %src[%i], %m[%i], 4 : !Global to !Buffer
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @again
gpu.module @again {
  // A barrier after the last use: nobody is still at it when the next iteration begins.
  // CHECK-LABEL: gpu.func @barrier_after
  // CHECK: scf.for
  // CHECK-NEXT: memref.get_global @__wg_barrier_after_alloc_0
  // CHECK-NOT: memref.dealloc
  // CHECK: gpu.return
  gpu.func @barrier_after(%src: !Global, %n: index, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      %a = memref.alloc() : !Buffer
      %row = memref.subview %a[%i] [4] [1] : !Buffer to memref<4xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
      %t = gpux.copy async %src[%i], %row[%c0], 4 : !Global to memref<4xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
      %u = async.join %t
      async.await %u
      gpu.barrier
      %x = memref.load %a[%k] : !Buffer
      memref.store %x, %src[%k] : !Global
      gpu.barrier
      memref.dealloc %a : !Buffer
    }
    gpu.return
  }

  // Or before the first one, in a loop of branches.
  // CHECK-LABEL: gpu.func @barrier_before
  // CHECK: ^bb1:
  // CHECK-NEXT: memref.get_global @__wg_barrier_before_alloc_0
  gpu.func @barrier_before(%i: index, %x: f32, %p: i1) kernel {
    cf.br ^body
  ^body:
    %a = memref.alloca() : !Buffer
    gpu.barrier
    memref.store %x, %a[%i] : !Buffer
    cf.cond_br %p, ^body, ^end
  ^end:
    gpu.return
  }
}

// Host code is none of this: its memory is of whatever space it says.
// CHECK-LABEL: func.func @host
func.func @host(%n: index) {
  // CHECK-NEXT: memref.alloc(%{{.*}}) : memref<?xf32, 3>
  %a = memref.alloc(%n) : memref<?xf32, 3>
  // CHECK-NEXT: memref.dealloc
  memref.dealloc %a : memref<?xf32, 3>
  return
}
