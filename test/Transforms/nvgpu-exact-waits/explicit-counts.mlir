// RUN: async-opt %s --nvgpu-exact-waits --split-input-file --verify-diagnostics | FileCheck %s

// The count waits for all groups but the newest, which is the one awaited.
// CHECK-LABEL: @too_large
func.func @too_large(%src: memref<64xf32>, %a: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 1` waits for too little: a copy awaited here may still be in flight; the exact count is 0}}
  nvgpu.device_async_wait %1 {numGroups = 1 : i32}
  return
}

// -----

// A count may look too large and not be: the first wait waits for all, until it is relaxed.
// CHECK-LABEL: @covered_by_another_wait
func.func @covered_by_another_wait(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %3 {numGroups = 1 : i32}
  return
}

// -----

// Nothing else waits for the second copy: the count is meant to drain.
// CHECK-LABEL: @drains_a_copy_that_no_wait_names
func.func @drains_a_copy_that_no_wait_names(%src: memref<64xf32>, %i: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy, which no wait from here on names}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept, as it completes more; the exact count for the copies awaited here is 1}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  return
}

// -----

// What is kept counts for the waits after it.
// CHECK-LABEL: @kept_counts_imply_others
func.func @kept_counts_imply_others(%src: memref<64xf32>, %i: index, %j: index) -> f32 {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // CHECK-NOT: nvgpu.device_async_wait
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // expected-note @below {{what the copy writes may be accessed here before a wait names the copy}}
  %4 = memref.load %b[%j] : memref<64xf32, 3>
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  return %4 : f32
}

// -----

// A drain whose own token is complete already.
// CHECK-LABEL: @drains_though_implied
func.func @drains_though_implied(%src: memref<64xf32>, %i: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %1
  // expected-note @below {{which no wait from here on names}}
  %2 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept, as it completes more; the copies awaited here are complete without a wait}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  return
}

// -----

// Relaxed: a wait names the second copy before anything reads it.
// CHECK-LABEL: @named_before_it_is_read
func.func @named_before_it_is_read(%src: memref<64xf32>, %i: index, %j: index) -> (f32, f32) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  gpu.barrier
  %4 = memref.load %a[%j] : memref<64xf32, 3>
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  %5 = memref.load %b[%j] : memref<64xf32, 3>
  return %4, %5 : f32, f32
}

// -----

// Relaxed: what is read before is another row of the same buffer, through a view or not.
// CHECK-LABEL: @another_row
func.func @another_row(%src: memref<64xf32>, %i: index, %j: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %row = arith.remui %c4, %c4 : index
  %a = memref.alloc() : memref<2x64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%row, %i], 4 : memref<64xf32> to memref<2x64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %a[%c1, %i], 4 : memref<64xf32> to memref<2x64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  %view = memref.subview %a[0, 0] [1, 64] [1, 1] : memref<2x64xf32, 3> to memref<64xf32, strided<[1]>, 3>
  %4 = memref.load %view[%j] : memref<64xf32, strided<[1]>, 3>
  %5 = vector.load %a[%row, %j] : memref<2x64xf32, 3>, vector<4xf32>
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  %6 = memref.load %a[%c1, %j] : memref<2x64xf32, 3>
  return %4, %6 : f32, f32
}

// -----

// Kept: the row that is read before is not known.
// CHECK-LABEL: @some_row
func.func @some_row(%src: memref<64xf32>, %i: index, %j: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<2x64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%c0, %i], 4 : memref<64xf32> to memref<2x64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %a[%c1, %i], 4 : memref<64xf32> to memref<2x64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // expected-note @below {{may be accessed here}}
  %4 = memref.load %a[%j, %i] : memref<2x64xf32, 3>
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  return %4 : f32
}

// -----

// Relaxed: a function that is called can't read what is made here and handed to nobody.
func.func private @reads()
// CHECK-LABEL: @call_that_knows_no_buffer
func.func @call_that_knows_no_buffer(%src: memref<64xf32>, %i: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %view = memref.cast %b : memref<64xf32, 3> to memref<?xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %view[%i], 4 : memref<64xf32> to memref<?xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  func.call @reads() : () -> ()
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  %4 = memref.load %b[%i] : memref<64xf32, 3>
  memref.store %4, %src[%i] : memref<64xf32>
  return
}

// -----

// Relaxed: so are the attributions of a kernel.
gpu.module @module {
  func.func private @reads()
  // CHECK-LABEL: gpu.func @attributions
  gpu.func @attributions(%src: memref<64xf32>, %i: index)
      workgroup(%a: memref<64xf32, 3>, %b: memref<64xf32, 3>) kernel {
    %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %1 = nvgpu.device_async_create_group %0
    %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
    %3 = nvgpu.device_async_create_group %2
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %1 {numGroups = 0 : i32}
    func.call @reads() : () -> ()
    nvgpu.device_async_wait %3 {numGroups = 0 : i32}
    gpu.return
  }
}

// -----

// Kept: a function that is called may read what others know: an argument, or what was passed, stored, carried or returned.
func.func private @reads()
// CHECK-LABEL: @call_that_may_know_the_argument
func.func @call_that_may_know_the_argument(%src: memref<64xf32>, %b: memref<64xf32, 3>, %i: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // expected-note @below {{may be accessed here}}
  func.call @reads() : () -> ()
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  return
}

// -----

func.func private @reads()
// CHECK-LABEL: @call_that_was_handed_a_view
func.func @call_that_was_handed_a_view(%src: memref<64xf32>, %all: memref<1xmemref<?xf32, 3>>, %i: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %view = memref.cast %b : memref<64xf32, 3> to memref<?xf32, 3>
  memref.store %view, %all[%i] : memref<1xmemref<?xf32, 3>>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // expected-note @below {{may be accessed here}}
  func.call @reads() : () -> ()
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  return
}

// -----

func.func private @reads()
// CHECK-LABEL: @call_that_may_know_what_a_loop_carries
func.func @call_that_may_know_what_a_loop_carries(%src: memref<64xf32>, %i: index, %n: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // expected-note @below {{may be accessed here}}
  func.call @reads() : () -> ()
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  %c = scf.for %k = %i to %n step %n iter_args(%x = %b) -> (memref<64xf32, 3>) {
    scf.yield %x : memref<64xf32, 3>
  }
  return
}

// -----

// Kept: a function that is called earlier may have copies of its own in flight.
func.func private @copies(memref<64xf32, 3>)
// CHECK-LABEL: @call_that_may_copy
func.func @call_that_may_copy(%src: memref<64xf32>, %i: index) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  func.call @copies(%b) : (memref<64xf32, 3>) -> ()
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  // expected-note @below {{it may also complete copies of a function that is called earlier}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  return
}

// -----

// Relaxed on all paths or kept: here one path reads before the wait that names the copy.
// CHECK-LABEL: @read_on_one_path
func.func @read_on_one_path(%src: memref<64xf32>, %i: index, %cond: i1, %out: memref<64xf32>) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  scf.if %cond {
    // expected-note @below {{may be accessed here}}
    %4 = memref.load %b[%i] : memref<64xf32, 3>
    memref.store %4, %out[%i] : memref<64xf32>
  }
  nvgpu.device_async_wait %3 {numGroups = 0 : i32}
  return
}

// -----

// The wait that names it is on one path only. The buffer ends with the function, so nothing reads it on the other.
// CHECK-LABEL: @named_on_one_path
func.func @named_on_one_path(%src: memref<64xf32>, %i: index, %cond: i1) {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  scf.if %cond {
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
    nvgpu.device_async_wait %3
  }
  return
}

// -----

// The same with a buffer that the caller can read.
// CHECK-LABEL: @buffer_of_the_caller
func.func @buffer_of_the_caller(%src: memref<64xf32>, %b: memref<64xf32, 3>, %i: index, %cond: i1) {
  %a = memref.alloc() : memref<64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy, whose buffer outlives the function}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  scf.if %cond {
    nvgpu.device_async_wait %3
  }
  return
}

// -----

// Relaxed: in a loop that looks one iteration ahead, the wait itself names the younger copy an iteration later. The
// row that is read is not known, yet it is another one than that of this iteration's copy.
// CHECK-LABEL: @rotating_tokens
func.func @rotating_tokens(%src: memref<64xf32>, %i: index, %n: index, %out: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.alloc() : memref<2x64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%c0, %i], 4 : memref<64xf32> to memref<2x64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  scf.for %j = %c0 to %n step %c1 iter_args(%t = %1) -> (!nvgpu.device.async.token) {
    %k = arith.addi %j, %c1 : index
    %ahead = arith.remui %k, %c2 : index
    %2 = nvgpu.device_async_copy %src[%k], %a[%ahead, %i], 4 : memref<64xf32> to memref<2x64xf32, 3>
    %3 = nvgpu.device_async_create_group %2
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %t {numGroups = 0 : i32}
    gpu.barrier
    %row = arith.remui %j, %c2 : index
    %4 = memref.load %a[%row, %i] : memref<2x64xf32, 3>
    memref.store %4, %out[%j] : memref<64xf32>
    scf.yield %3 : !nvgpu.device.async.token
  }
  return
}

// -----

// Two iterations ahead: the row that is read is none of those of the copies of this iteration and the last one, nor of the second copy before
// the loop, which may be in flight in the first iteration alone.
// CHECK-LABEL: @two_iterations_ahead
func.func @two_iterations_ahead(%src: memref<64xf32>, %i: index, %n: index, %out: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<3x64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%c0, %i], 4 : memref<64xf32> to memref<3x64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  %2 = nvgpu.device_async_copy %src[%i], %a[%c1, %i], 4 : memref<64xf32> to memref<3x64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  scf.for %j = %c0 to %n step %c1 iter_args(%t = %1, %u = %3) -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
    %k = arith.addi %j, %c2 : index
    %ahead = arith.remui %k, %c3 : index
    %4 = nvgpu.device_async_copy %src[%k], %a[%ahead, %i], 4 : memref<64xf32> to memref<3x64xf32, 3>
    %5 = nvgpu.device_async_create_group %4
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
    nvgpu.device_async_wait %t {numGroups = 0 : i32}
    gpu.barrier
    %next = arith.addi %j, %c0 : index
    %row = arith.remui %next, %c3 : index
    %x = memref.load %a[%row, %i] : memref<3x64xf32, 3>
    memref.store %x, %out[%j] : memref<64xf32>
    scf.yield %u, %5 : !nvgpu.device.async.token, !nvgpu.device.async.token
  }
  return
}

// -----

// The same, but the row that is read is that of the next iteration: the count is meant to complete its copy.
// CHECK-LABEL: @reads_ahead
func.func @reads_ahead(%src: memref<64xf32>, %i: index, %n: index, %out: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<3x64xf32, 3>
  %0 = nvgpu.device_async_copy %src[%i], %a[%c0, %i], 4 : memref<64xf32> to memref<3x64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %a[%c1, %i], 4 : memref<64xf32> to memref<3x64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  scf.for %j = %c0 to %n step %c1 iter_args(%t = %1, %u = %3) -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
    %k = arith.addi %j, %c2 : index
    %ahead = arith.remui %k, %c3 : index
    %4 = nvgpu.device_async_copy %src[%k], %a[%ahead, %i], 4 : memref<64xf32> to memref<3x64xf32, 3>
    %5 = nvgpu.device_async_create_group %4
    // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
    // expected-warning @below {{`numGroups = 0` is kept, as it completes more; the exact count for the copies awaited here is 2}}
    nvgpu.device_async_wait %t {numGroups = 0 : i32}
    gpu.barrier
    %next = arith.addi %j, %c1 : index
    %row = arith.remui %next, %c3 : index
    // expected-note @below {{what the copy writes may be accessed here before a wait names the copy}}
    %x = memref.load %a[%row, %i] : memref<3x64xf32, 3>
    memref.store %x, %out[%j] : memref<64xf32>
    scf.yield %u, %5 : !nvgpu.device.async.token, !nvgpu.device.async.token
  }
  return
}

// -----

// What a call returns may be where the second copy writes, although its type doesn't say so.
func.func private @of_any_memory_space() -> memref<64xf32>
// CHECK-LABEL: @reads_what_a_call_returned
func.func @reads_what_a_call_returned(%src: memref<64xf32>, %a: memref<64xf32, 3>, %b: memref<64xf32, 3>, %i: index) -> f32 {
  %any = call @of_any_memory_space() : () -> memref<64xf32>
  %0 = nvgpu.device_async_copy %src[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %1 = nvgpu.device_async_create_group %0
  // expected-note @below {{it also completes this copy}}
  %2 = nvgpu.device_async_copy %src[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  %3 = nvgpu.device_async_create_group %2
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // expected-warning @below {{`numGroups = 0` is kept, as it completes more; the exact count for the copies awaited here is 1}}
  nvgpu.device_async_wait %1 {numGroups = 0 : i32}
  // expected-note @below {{what the copy writes may be accessed here before a wait names the copy}}
  %x = memref.load %any[%i] : memref<64xf32>
  nvgpu.device_async_wait %3
  return %x : f32
}
