// What the pass writes is checked, and is the same without the check.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-insert-flags -o %t 2>/dev/null
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --allow-unregistered-dialect --gpux-insert-flags=verify-result=false -o %t.unchecked 2>/dev/null
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --allow-unregistered-dialect --gpux-insert-flags=flags=counting -o %t 2>/dev/null
// RUN: async-opt %s --allow-unregistered-dialect --gpux-insert-flags="flags=counting verify-result=false" -o %t.unchecked 2>/dev/null
// RUN: diff %t %t.unchecked

!tile = memref<64xf32>
!tiles = memref<2x64xf32>

// Before the first iteration the tile is free.
// CHECK-LABEL: func.func @carried
// CHECK: gpux.set_flag <"V", "MTE2", [[FREE:[0-9]+]]>
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpux.wait_flag <"V", "MTE2", [[FREE]]>
// CHECK-NEXT: "npu.load"
func.func @carried(%a: !tile, %lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step {
    "npu.load"(%a) {async.engine = "MTE2", async.writes = [0]} : (!tile) -> ()
    "npu.add"(%a) {async.engine = "V", async.reads = [0]} : (!tile) -> ()
  }
  return
}

// A value goes from one iteration to the next, and from there to the one after that.
// CHECK-LABEL: func.func @two_later
// CHECK: scf.for
// CHECK: gpux.wait_flag <"M", "V"
// CHECK: "npu.use"
func.func @two_later(%zero: i32, %lb: index, %ub: index, %step: index) {
  scf.for %i = %lb to %ub step %step iter_args(%last = %zero, %older = %zero) -> (i32, i32) {
    "npu.use"(%older) {async.engine = "V"} : (i32) -> ()
    %next = "npu.make"() {async.engine = "M"} : () -> i32
    scf.yield %next, %last : i32, i32
  }
  return
}

// A branch on what another engine computes, and a loop that goes on as long as that says.
// CHECK-LABEL: func.func @conditions
// CHECK: gpux.wait_flag <"S", "V"
// CHECK: scf.if
// CHECK: gpux.wait_flag <"S", "V"
// CHECK: scf.condition
func.func @conditions(%a: !tile) {
  %p = "npu.compare"() {async.engine = "S"} : () -> i1
  scf.if %p {
    "npu.add"(%a) {async.engine = "V", async.writes = [0]} : (!tile) -> ()
  }
  scf.while : () -> () {
    %more = "npu.compare"() {async.engine = "S"} : () -> i1
    "npu.load"(%a) {async.engine = "MTE2", async.writes = [0]} : (!tile) -> ()
    scf.condition(%more)
  } do {
    "npu.add"(%a) {async.engine = "V", async.reads = [0], async.writes = [0]} : (!tile) -> ()
    scf.yield
  }
  "npu.store"(%a) {async.engine = "MTE3", async.reads = [0]} : (!tile) -> ()
  return
}

// Halves of tiles, one of which is loaded while the other one is used.
// CHECK-LABEL: func.func @halves
// CHECK: scf.for
func.func @halves(%a: !tiles, %lb: index, %ub: index, %step: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lb to %ub step %step {
    %first = memref.subview %a[0, 0] [1, 64] [1, 1] : !tiles to memref<1x64xf32, strided<[64, 1]>>
    %second = memref.subview %a[1, 0] [1, 64] [1, 1] : !tiles to memref<1x64xf32, strided<[64, 1], offset: 64>>
    "npu.load"(%first) {async.engine = "MTE2", async.writes = [0]} : (memref<1x64xf32, strided<[64, 1]>>) -> ()
    "npu.add"(%second) {async.engine = "V", async.reads = [0]} : (memref<1x64xf32, strided<[64, 1], offset: 64>>) -> ()
    "npu.load"(%second) {async.engine = "MTE2", async.writes = [0]} : (memref<1x64xf32, strided<[64, 1], offset: 64>>) -> ()
    "npu.add"(%first) {async.engine = "V", async.reads = [0]} : (memref<1x64xf32, strided<[64, 1]>>) -> ()
  }
  return
}

// A flag is waited for in several blocks; after each it may be set again.
// CHECK-LABEL: func.func @waits_in_several_blocks
// CHECK: gpux.wait_flag <"B", "D", [[FREE:[0-9]+]]>
// CHECK: scf.for
// CHECK: gpux.wait_flag <"B", "D", [[FREE]]>
// CHECK: gpux.wait_flag <"B", "D", [[FREE]]>
func.func @waits_in_several_blocks(%a: !tile, %lb: index, %ub: index, %step: index, %p: i1) {
  scf.for %i = %lb to %ub step %step {
    scf.if %p {
      scf.for %j = %lb to %ub step %step {
        "npu.load"(%a) {async.engine = "B", async.reads = [0]} : (!tile) -> ()
        "npu.store"(%a) {async.engine = "D", async.writes = [0]} : (!tile) -> ()
      }
    }
  }
  return
}

// If the inner loop runs, its flags tell the last engine that the last wait is over, and if it does not, the flag after it does.
// CHECK-LABEL: func.func @told_on_either_way
// CHECK: scf.while
func.func @told_on_either_way(%a: !tile, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.while : () -> () {
    %more = "npu.compare"() {async.engine = "MTE2"} : () -> i1
    scf.condition(%more)
  } do {
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %m step %c1 {
        "npu.add"(%a) {async.engine = "V", async.reads = [0]} : (!tile) -> ()
        "npu.load"(%a) {async.engine = "MTE2", async.writes = [0]} : (!tile) -> ()
      }
    }
    "npu.add"() {async.engine = "V"} : () -> ()
    scf.yield
  }
  return
}

// What runs on no engine may use an engine's number where nothing is done with it, and effects on no engine are in order.
// CHECK-LABEL: func.func @only_computed
// CHECK: arith.addi
func.func @only_computed(%m: memref<i32>, %x: i32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = "npu.make"() {async.engine = "S"} : () -> i32
  %sum, %old = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %y, %old = %x) -> (i32, i32) {
    %next = arith.addi %sum, %y : i32
    memref.store %old, %m[] : memref<i32>
    "npu.use"(%next) {async.engine = "V"} : (i32) -> ()
    scf.yield %next, %old : i32, i32
  }
  return %sum : i32
}

// Nor does an effect on no engine need what is only handed on, or computed, beside it.
// CHECK-LABEL: func.func @handed_on
// CHECK: memref.store
func.func @handed_on(%m: memref<i32>, %x: i32, %n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = "npu.make"() {async.engine = "S"} : () -> i32
  scf.if %p {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%old = %x) -> i32 {
      %sum = arith.addi %y, %x : i32
      memref.store %x, %m[] : memref<i32>
      scf.yield %sum : i32
    }
    "npu.use"() {async.engine = "V"} : () -> ()
  }
  return
}
