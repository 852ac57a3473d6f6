// RUN: async-opt %s --gpux-insert-flags --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// What is in a branch or a loop may not be executed, so nothing that comes after it relies on the flags inside.

!tile = memref<64xf32>

// M's write waits for S's first one, which the branch is between.
// CHECK-LABEL: func.func @branch_between
// CHECK:       "npu.first"
// CHECK-NEXT:  gpux.set_flag <"S", "M", [[FIRST:[0-9]+]]>
// CHECK-NEXT:  scf.if
// CHECK:       gpux.wait_flag <"S", "M", [[FIRST]]>
// CHECK-NEXT:  "npu.last"
func.func @branch_between(%p: i1) {
  %a = memref.alloc() : !tile
  "npu.first"(%a) {async.engine = "S", async.writes = [0]} : (!tile) -> ()
  scf.if %p {
    %x = "npu.again"(%a) {async.engine = "S", async.writes = [0]} : (!tile) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  "npu.last"(%a) {async.engine = "M", async.writes = [0]} : (!tile) -> ()
  return
}

// V branches on M's result, so it waits before the branch.
// CHECK-LABEL: func.func @condition
// CHECK:       "npu.condition"
// CHECK-NEXT:  gpux.set_flag <"M", "V", 0>
// CHECK-NEXT:  gpux.wait_flag <"M", "V", 0>
// CHECK-NEXT:  scf.if
func.func @condition() {
  %p = "npu.condition"() {async.engine = "M"} : () -> i1
  scf.if %p {
    %x = "npu.make"() {async.engine = "M"} : () -> i32
    "npu.use"(%x) {async.engine = "V"} : (i32) -> ()
  }
  return
}

// What a branch hands on is from V or M.
// CHECK-LABEL: func.func @handed_through
// CHECK-DAG:   gpux.wait_flag <"V", "S", 0>
// CHECK-DAG:   gpux.wait_flag <"M", "S", 0>
// CHECK:       "npu.use"
func.func @handed_through(%p: i1) {
  %x = "npu.make"() {async.engine = "V"} : () -> i32
  %y = "npu.make"() {async.engine = "M"} : () -> i32
  %z = scf.if %p -> i32 {
    scf.yield %x : i32
  } else {
    scf.yield %y : i32
  }
  "npu.use"(%z) {async.engine = "S"} : (i32) -> ()
  return
}

// The second result is M's value of an earlier iteration.
// CHECK-LABEL: func.func @handed_on_later
// CHECK:       gpux.wait_flag <"M", "S", 0>
// CHECK-NEXT:  "npu.use"
func.func @handed_on_later(%lb: index, %ub: index, %step: index, %zero: i32) {
  %r:2 = scf.for %i = %lb to %ub step %step iter_args(%a = %zero, %b = %zero) -> (i32, i32) {
    %n = "npu.make"() {async.engine = "M"} : () -> i32
    scf.yield %n, %a : i32, i32
  }
  "npu.use"(%r#1) {async.engine = "S"} : (i32) -> ()
  return
}

// An atomic update says itself what it does.
// CHECK-LABEL: func.func @atomic
// CHECK:       "npu.write"
// CHECK-NEXT:  gpux.set_flag <"M", "V", 0>
// CHECK-NEXT:  gpux.wait_flag <"M", "V", 0>
// CHECK-NEXT:  memref.atomic_rmw
func.func @atomic(%i: index, %x: f32) {
  %a = memref.alloc() : !tile
  "npu.write"(%a) {async.engine = "M", async.writes = [0]} : (!tile) -> ()
  %old = memref.atomic_rmw addf %x, %a[%i] {async.engine = "V"} : (f32, !tile) -> f32
  return
}

// The loads of later iterations are held back, though no memory does that: else a flag would be set twice.
// CHECK-LABEL: func.func @held_back
// CHECK-NEXT: gpux.set_flag <"V", "S", 0>
// CHECK-NEXT: scf.for
// CHECK-NEXT: "npu.make"
// CHECK-NEXT: gpux.wait_flag <"V", "S", 0>
// CHECK-NEXT: gpux.set_flag <"S", "V", 0>
// CHECK-NEXT: gpux.wait_flag <"S", "V", 0>
// CHECK-NEXT: gpux.set_flag <"V", "S", 0>
// CHECK-NEXT: "npu.use"
func.func @held_back(%lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step {
    %x = "npu.make"() {async.engine = "S"} : () -> i32
    "npu.use"(%x) {async.engine = "V"} : (i32) -> ()
  }
  return
}
