// Tokens are awaited as late as their block allows.
//
// RUN: async-opt %s --async-to-gpux | FileCheck %s
// RUN: async-opt %s --async-to-gpux='awaits=immediate' | FileCheck %s --check-prefix=NOW

!Line = memref<512xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // All are issued, then all are awaited. They write different elements of one buffer.
  // CHECK-LABEL: gpu.func @until_the_barrier
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NOT: async.await
  // CHECK: %[[T1:.*]] = gpux.copy
  // CHECK-NEXT: math.sin
  // CHECK-NEXT: async.await %[[T0]], %[[T1]]
  // CHECK-NEXT: gpu.barrier
  // NOW-LABEL: gpu.func @until_the_barrier
  // NOW: %[[T0:.*]] = gpux.copy
  // NOW-NEXT: async.await %[[T0]]
  // NOW-NEXT: %[[T1:.*]] = gpux.copy
  // NOW-NEXT: async.await %[[T1]]
  // NOW-NEXT: math.sin
  gpu.func @until_the_barrier(%in: memref<512xf32>, %x: f32) workgroup(%s: !Line) kernel {
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %i = arith.addi %t, %c128 : index
    %v = memref.load %in[%t] : memref<512xf32>
    %w = memref.load %in[%i] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    memref.store %w, %s[%i] : !Line
    %y = math.sin %x : f32
    gpu.barrier
    gpu.return
  }

  // What is accessed is awaited, and nothing else.
  // CHECK-LABEL: gpu.func @until_the_access
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK: %[[T1:.*]] = gpux.copy
  // CHECK: async.await %[[T0]]{{$}}
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: async.await %[[T1]]{{$}}
  // CHECK-NEXT: gpu.return
  gpu.func @until_the_access(%in: memref<512xf32>, %out: memref<512xf32> {llvm.noalias})
      workgroup(%a: !Line, %b: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %a[%t] : !Line
    %w = memref.load %in[%t] : memref<512xf32>
    memref.store %w, %b[%t] : !Line
    %x = memref.load %a[%t] : !Line
    memref.store %x, %out[%t] : memref<512xf32>
    gpu.return
  }

  // Arguments may be the same buffer.
  // CHECK-LABEL: gpu.func @until_the_source_is_written
  // CHECK: %[[T:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: memref.store
  gpu.func @until_the_source_is_written(%in: memref<512xf32>, %out: memref<512xf32>, %x: f32)
      workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    memref.store %x, %out[%t] : memref<512xf32>
    gpu.return
  }

  // Two copies to the same place, or to places that may be the same, are in order.
  // CHECK-LABEL: gpu.func @same_place
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T0]]
  // CHECK-NEXT: gpux.copy
  // CHECK-LABEL: gpu.func @any_place
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T0]]
  // CHECK-NEXT: gpux.copy
  // CHECK-LABEL: gpu.func @place_from_another_index
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T0]]
  // CHECK-NEXT: gpux.copy
  // CHECK-LABEL: gpu.func @same_place_by_subtraction
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T0]]
  // CHECK-NEXT: gpux.copy
  // CHECK-LABEL: gpu.func @overlapping
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK: async.await %[[T0]]
  // CHECK: gpux.copy
  gpu.func @same_place(%in: memref<512xf32>, %i: index) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    %w = memref.load %in[%i] : memref<512xf32>
    memref.store %w, %s[%t] : !Line
    gpu.return
  }
  gpu.func @any_place(%in: memref<512xf32>, %i: index) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    %w = memref.load %in[%i] : memref<512xf32>
    memref.store %w, %s[%i] : !Line
    gpu.return
  }
  gpu.func @place_from_another_index(%in: memref<512xf32>, %i: index) workgroup(%s: !Line) kernel {
    %c100 = arith.constant 100 : index
    %t = gpu.thread_id x
    %j = arith.addi %i, %c100 : index
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    %w = memref.load %in[%t] : memref<512xf32>
    memref.store %w, %s[%j] : !Line
    gpu.return
  }
  gpu.func @same_place_by_subtraction(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %four = arith.addi %t, %c4 : index
    %eight = arith.addi %t, %c8 : index
    %also_four = arith.subi %eight, %c4 : index
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%four] : !Line
    %w = memref.load %in[%four] : memref<512xf32>
    memref.store %w, %s[%also_four] : !Line
    gpu.return
  }
  gpu.func @overlapping(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %v = vector.load %in[%c0] : memref<512xf32>, vector<4xf32>
    vector.store %v, %s[%c0] : !Line, vector<4xf32>
    %w = memref.load %in[%c3] : memref<512xf32>
    memref.store %w, %s[%c3] : !Line
    gpu.return
  }

  // A loop that works on other buffers runs in the meantime. One with a barrier does not, nor one that reads what is copied.
  // CHECK-LABEL: gpu.func @loops
  // CHECK: %[[T0:.*]] = gpux.copy
  // CHECK-NEXT: scf.for
  // CHECK: async.await %[[T0]]
  // CHECK-NEXT: scf.for
  // CHECK: %[[T1:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T1]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: gpu.barrier
  gpu.func @loops(%in: memref<512xf32>, %n: index, %x: f32) workgroup(%a: !Line, %b: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %a[%t] : !Line
    scf.for %k = %c0 to %n step %c1 {
      memref.store %x, %b[%t] : !Line
    }
    scf.for %k = %c0 to %n step %c1 {
      %y = memref.load %a[%t] : !Line
      memref.store %y, %b[%t] : !Line
    }
    %w = memref.load %in[%t] : memref<512xf32>
    memref.store %w, %a[%t] : !Line
    scf.for %k = %c0 to %n step %c1 {
      gpu.barrier
    }
    gpu.return
  }

  // Nothing is awaited in another block than its own.
  // CHECK-LABEL: gpu.func @end_of_the_block
  // CHECK: scf.for
  // CHECK: %[[T:.*]] = gpux.copy
  // CHECK-NEXT: async.await %[[T]]
  // CHECK-NEXT: }
  gpu.func @end_of_the_block(%in: memref<512xf32>, %n: index) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    scf.for %k = %c0 to %n step %c1 {
      %v = memref.load %in[%k] : memref<512xf32>
      memref.store %v, %s[%t] : !Line
    }
    gpu.return
  }

  // What a function does that is called is not known.
  // CHECK-LABEL: gpu.func @calls
  // CHECK: gpux.copy
  // CHECK-NEXT: async.await
  // CHECK-NEXT: func.call
  func.func private @f()
  gpu.func @calls(%in: memref<512xf32>) workgroup(%s: !Line) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    func.call @f() : () -> ()
    gpu.return
  }

  // An atomic update may tell another thread.
  // CHECK-LABEL: gpu.func @atomic_updates
  // CHECK: gpux.copy
  // CHECK: async.await
  // CHECK-NEXT: memref.atomic_rmw
  gpu.func @atomic_updates(%in: memref<512xf32>, %flag: memref<1xi32> {llvm.noalias}) workgroup(%s: !Line) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<512xf32>
    memref.store %v, %s[%t] : !Line
    %old = memref.atomic_rmw addi %one, %flag[%c0] : (i32, memref<1xi32>) -> i32
    gpu.return
  }
}
