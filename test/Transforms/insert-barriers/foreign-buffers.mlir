// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | FileCheck %s
// RUN: async-sim %s --kernel=returned_by_a_call --block=32 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | async-sim - --kernel=returned_by_a_call --block=32 | FileCheck %s --check-prefix=SIM
// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | async-sim - --kernel=a_global_of_another_function --block=32 | FileCheck %s --check-prefix=GLOBAL
// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | async-sim - --kernel=one_of_two --block=32 --arg 1=1 | FileCheck %s --check-prefix=ONE
// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | async-sim - --kernel=carried --block=32 | FileCheck %s --check-prefix=CARRIED
// RUN: async-opt %s --gpux-insert-barriers 2>/dev/null | async-sim - --kernel=of_no_memory_space --block=32 | FileCheck %s --check-prefix=SPACE

// Buffers that a function does not mention: others have them, and calls may access them.

!row = memref<32xf32, 3>
!out = memref<32xf32>

gpu.module @kernels {
  memref.global "private" @global : !row = uninitialized

  func.func private @filled(%x: f32) -> !row {
    %s = memref.alloc() : !row
    %t = gpu.thread_id x
    memref.store %x, %s[%t] : !row
    return %s : !row
  }
  func.func private @fill_global(%x: f32) -> !row {
    %s = memref.get_global @global : !row
    %t = gpu.thread_id x
    memref.store %x, %s[%t] : !row
    return %s : !row
  }
  func.func private @fill(%s: !out, %x: f32) {
    %t = gpu.thread_id x
    memref.store %x, %s[%t] : !out
    return
  }
  func.func private @of_any_memory_space() -> !out {
    %s = memref.get_global @global : !row
    %any = memref.memory_space_cast %s : !row to !out
    return %any : !out
  }
  func.func private @pointer() -> !llvm.ptr<3>

  // What the call returns the call may have written.
  //
  // SIM: returned_by_a_call: clean
  // CHECK-LABEL: gpu.func @returned_by_a_call
  // CHECK: func.call @filled
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @returned_by_a_call(%out: !out) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : index
    %one = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    %a = func.call @filled(%one) : (f32) -> !row
    gpu.barrier
    %x = memref.load %a[%mirrored] : !row
    memref.store %x, %out[%t] : !out
    memref.dealloc %a : !row
    gpu.return
  }

  // GLOBAL: a_global_of_another_function: clean
  // CHECK-LABEL: gpu.func @a_global_of_another_function
  // CHECK: func.call @fill_global
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @a_global_of_another_function(%out: !out) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : index
    %one = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    %a = func.call @fill_global(%one) : (f32) -> !row
    gpu.barrier
    %x = memref.load %a[%mirrored] : !row
    memref.store %x, %out[%t] : !out
    gpu.return
  }

  // No call is needed for two accesses to meet.
  //
  // ONE: one_of_two: clean
  // CHECK-LABEL: gpu.func @one_of_two
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @one_of_two(%out: !out, %which: i1) workgroup(%own: !row) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : index
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    %a = func.call @filled(%one) : (f32) -> !row
    %s = arith.select %which, %a, %own : !row
    gpu.barrier
    memref.store %two, %s[%t] : !row
    gpu.barrier
    %x = memref.load %s[%mirrored] : !row
    memref.store %x, %out[%t] : !out
    gpu.return
  }

  // CARRIED: carried: clean
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.load
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.store
  gpu.func @carried(%out: !out) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c31 = arith.constant 31 : index
    %one = arith.constant 1.0 : f32
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    %a = func.call @filled(%one) : (f32) -> !row
    %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %a) -> (!row) {
      gpu.barrier
      %x = memref.load %s[%mirrored] : !row
      gpu.barrier
      memref.store %x, %s[%t] : !row
      scf.yield %s : !row
    }
    gpu.return
  }

  // A pointer to memory of the workgroup.
  //
  // CHECK-LABEL: gpu.func @pointer_from_a_call
  // CHECK: llvm.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: llvm.load
  gpu.func @pointer_from_a_call(%x: f32, %out: !out) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : i64
    %t = gpu.thread_id x
    %number = arith.index_cast %t : index to i64
    %mirrored = arith.subi %c31, %number : i64
    %first = func.call @pointer() : () -> !llvm.ptr<3>
    %own = llvm.getelementptr %first[%number] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    %other = llvm.getelementptr %first[%mirrored] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    llvm.store %x, %own : f32, !llvm.ptr<3>
    %y = llvm.load %other : !llvm.ptr<3> -> f32
    memref.store %y, %out[%t] : !out
    gpu.return
  }

  // What a call returns may be memory of the workgroup, although its type doesn't say so.
  //
  // SPACE: of_no_memory_space: clean
  // CHECK-LABEL: gpu.func @of_no_memory_space
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @of_no_memory_space(%x: f32, %out: !out) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    %any = func.call @of_any_memory_space() : () -> !out
    %s = memref.get_global @global : !row
    memref.store %x, %s[%t] : !row
    %y = memref.load %any[%mirrored] : !out
    memref.store %y, %out[%t] : !out
    gpu.return
  }

  // One of the function's own buffers: a call has nothing to do with it.
  //
  // CHECK-LABEL: gpu.func @own_buffers
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @own_buffers(%x: f32, %out: !out, %which: i1) workgroup(%a: !row, %b: !row) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    memref.store %x, %a[%t] : !row
    %c = func.call @filled(%x) : (f32) -> !row
    %y = memref.load %a[%t] : !row
    memref.store %y, %out[%t] : !out
    gpu.return
  }

  // A barrier between a call and what it is handed stays, also if each thread accesses the rest of it alone.
  //
  // CHECK-LABEL: gpu.func @global_memory_of_a_call
  // CHECK: func.call @fill
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @global_memory_of_a_call(%x: f32, %out: !out) workgroup(%s: !row) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : index
    %t = gpu.thread_id x
    %mirrored = arith.subi %c31, %t : index
    func.call @fill(%out, %x) : (!out, f32) -> ()
    gpu.barrier
    %y = memref.load %out[%mirrored] : !out
    memref.store %y, %s[%t] : !row
    gpu.return
  }
}
