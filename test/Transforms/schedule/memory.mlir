// RUN: async-opt %s --gpux-schedule --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// The last operation of each function is long, and comes before the second one if memory lets it.

!buffer = memref<2x64xf32>

// CHECK-LABEL: func.func @read_after_write
// CHECK: "npu.write"
// CHECK: "npu.read"
func.func @read_after_write() {
  %a = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, !buffer) -> ()
  "npu.read"(%a) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (!buffer) -> ()
  return
}

// CHECK-LABEL: func.func @write_after_read
// CHECK: "npu.read"
// CHECK: "npu.write"
func.func @write_after_read() {
  %a = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.read"(%x, %a) {async.engine = "S", async.reads = [1]} : (i32, !buffer) -> ()
  "npu.write"(%a) {async.engine = "V", async.latency = 50 : i64, async.writes = [0]} : (!buffer) -> ()
  return
}

// CHECK-LABEL: func.func @write_after_write
// CHECK: "npu.write"
// CHECK: "npu.overwrite"
func.func @write_after_write() {
  %a = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, !buffer) -> ()
  "npu.overwrite"(%a) {async.engine = "V", async.latency = 50 : i64, async.writes = [0]} : (!buffer) -> ()
  return
}

// Reads pass each other.
// CHECK-LABEL: func.func @read_after_read
// CHECK: "npu.reread"
// CHECK: "npu.read"
func.func @read_after_read() {
  %a = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.read"(%x, %a) {async.engine = "S", async.reads = [1]} : (i32, !buffer) -> ()
  "npu.reread"(%a) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (!buffer) -> ()
  return
}

// Another buffer.
// CHECK-LABEL: func.func @other_buffer
// CHECK: "npu.read"
// CHECK: "npu.write"
func.func @other_buffer() {
  %a = memref.alloc() : !buffer
  %b = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, !buffer) -> ()
  "npu.read"(%b) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (!buffer) -> ()
  return
}

// Another memory space: arguments may be the same buffer, but not these.
// CHECK-LABEL: func.func @other_space
// CHECK: "npu.read"
// CHECK: "npu.write"
func.func @other_space(%a: memref<64xf32, #gpu.address_space<workgroup>>, %b: memref<64xf32, #gpu.address_space<global>>) {
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, #gpu.address_space<workgroup>>) -> ()
  "npu.read"(%b) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32, #gpu.address_space<global>>) -> ()
  return
}

// CHECK-LABEL: func.func @arguments_may_be_the_same
// CHECK: "npu.write"
// CHECK: "npu.read"
func.func @arguments_may_be_the_same(%a: memref<64xf32>, %b: memref<64xf32>) {
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32>) -> ()
  "npu.read"(%b) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32>) -> ()
  return
}

// Slots of one buffer: the first and the second row.
// CHECK-LABEL: func.func @other_slot
// CHECK: "npu.read"
// CHECK: "npu.write"
func.func @other_slot() {
  %a = memref.alloc() : !buffer
  %first = memref.subview %a[0, 0] [1, 64] [1, 1] : !buffer to memref<64xf32, strided<[1]>>
  %second = memref.subview %a[1, 0] [1, 64] [1, 1] : !buffer to memref<64xf32, strided<[1], offset: 64>>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %first) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, strided<[1]>>) -> ()
  "npu.read"(%second) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32, strided<[1], offset: 64>>) -> ()
  return
}

// A view of the whole buffer shows both.
// CHECK-LABEL: func.func @whole_buffer
// CHECK: "npu.write"
// CHECK: "npu.read"
func.func @whole_buffer() {
  %a = memref.alloc() : !buffer
  %first = memref.subview %a[0, 0] [1, 64] [1, 1] : !buffer to memref<64xf32, strided<[1]>>
  %all = memref.cast %a : !buffer to memref<?x64xf32>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %first) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, strided<[1]>>) -> ()
  "npu.read"(%all) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<?x64xf32>) -> ()
  return
}

// Views of one allocation at constant offsets.
// CHECK-LABEL: func.func @other_bytes
// CHECK: "npu.read"
// CHECK: "npu.write"
func.func @other_bytes() {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %a = memref.alloc() : memref<512xi8>
  %first = memref.view %a[%c0][] : memref<512xi8> to memref<64xf32>
  %second = memref.view %a[%c256][] : memref<512xi8> to memref<64xf32>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %first) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32>) -> ()
  "npu.read"(%second) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32>) -> ()
  return
}

// What says of itself what it does to memory need not be told.
// CHECK-LABEL: func.func @known_operations
// CHECK: memref.store
// CHECK: "npu.read"
func.func @known_operations(%i: index) {
  %a = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> f32
  memref.store %x, %a[%i, %i] {async.engine = "S"} : !buffer
  "npu.read"(%a) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (!buffer) -> ()
  return
}

// Unknown operations are fences for what has effects, and for nothing else.
// CHECK-LABEL: func.func @fence
// CHECK: "npu.pure"
// CHECK: "npu.unknown"
// CHECK: "npu.read"
func.func @fence() {
  %a = memref.alloc() : !buffer
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.unknown"(%x) : (i32) -> ()
  "npu.read"(%a) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (!buffer) -> ()
  "npu.pure"() {async.engine = "M", async.latency = 60 : i64} : () -> ()
  return
}

// A division by zero must not happen before a check that comes first.
// CHECK-LABEL: func.func @not_earlier_than_a_check
// CHECK: cf.assert
// CHECK: arith.divsi
func.func @not_earlier_than_a_check(%n: i32, %p: i1) {
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i1
  cf.assert %x, "n is not zero"
  %y = arith.divsi %n, %n {async.latency = 50 : i64} : i32
  return
}

// Slots of a rotation, at indices that are computed: `i mod 3` and `(i + 2) mod 3`.
// CHECK-LABEL: func.func @other_computed_slot
// CHECK: "npu.read"
// CHECK: "npu.write"
func.func @other_computed_slot(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<3x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %later = arith.addi %i, %c2 : index
    %to = arith.remui %later, %c3 : index
    %of = arith.remui %i, %c3 : index
    %in = memref.subview %a[%to, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %out = memref.subview %a[%of, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
    "npu.write"(%x, %in) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, strided<[1], offset: ?>>) -> ()
    "npu.read"(%out) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32, strided<[1], offset: ?>>) -> ()
  }
  return
}

// Three later is the same slot.
// CHECK-LABEL: func.func @same_computed_slot
// CHECK: "npu.write"
// CHECK: "npu.read"
func.func @same_computed_slot(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<3x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %later = arith.addi %i, %c3 : index
    %to = arith.remui %later, %c3 : index
    %of = arith.remui %i, %c3 : index
    %in = memref.subview %a[%to, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %out = memref.subview %a[%of, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
    "npu.write"(%x, %in) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, strided<[1], offset: ?>>) -> ()
    "npu.read"(%out) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32, strided<[1], offset: ?>>) -> ()
  }
  return
}

// An unsigned remainder of a negative sum is that of a large one: (0 - 1) mod 3 is (0 + 0) mod 3.
// CHECK-LABEL: func.func @slots_of_negative_sums_may_be_the_same
// CHECK: "npu.write"
// CHECK: "npu.read"
func.func @slots_of_negative_sums_may_be_the_same(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<3x64xf32>
  scf.for %i = %c0 to %n step %c1 {
    %earlier = arith.subi %i, %c1 : index
    %to = arith.remui %earlier, %c3 : index
    %of = arith.remui %i, %c3 : index
    %in = memref.subview %a[%to, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %out = memref.subview %a[%of, 0] [1, 64] [1, 1] : memref<3x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
    "npu.write"(%x, %in) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, strided<[1], offset: ?>>) -> ()
    "npu.read"(%out) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32, strided<[1], offset: ?>>) -> ()
  }
  return
}

// An operation that says itself what it does says so with an engine as well.
// CHECK-LABEL: func.func @atomic_update
// CHECK: "npu.write"
// CHECK: memref.atomic_rmw
func.func @atomic_update(%i: index, %y: f32) {
  %a = memref.alloc() : memref<64xf32>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32>) -> ()
  %old = memref.atomic_rmw addf %y, %a[%i] {async.engine = "V", async.latency = 50 : i64} : (f32, memref<64xf32>) -> f32
  return
}

// So does what is in the regions of one that runs on an engine.
// CHECK-LABEL: func.func @region_of_an_engine
// CHECK: "npu.write"
// CHECK: scf.if
func.func @region_of_an_engine(%i: index, %p: i1, %y: f32) {
  %a = memref.alloc() : memref<64xf32>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32>) -> ()
  scf.if %p {
    memref.store %y, %a[%i] : memref<64xf32>
  } {async.engine = "V", async.latency = 50 : i64}
  return
}

// `scf.reduce` ends a region, and has one.
// CHECK-LABEL: func.func @reduction
// CHECK: "npu.write"
// CHECK: scf.parallel
func.func @reduction(%lb: index, %ub: index, %step: index, %zero: f32) {
  %a = memref.alloc() : memref<64xf32>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %a) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32>) -> ()
  %sum = scf.parallel (%i) = (%lb) to (%ub) step (%step) init (%zero) -> f32 {
    %y = "npu.make"() {async.engine = "V", async.latency = 50 : i64} : () -> f32
    scf.reduce(%y : f32) {
    ^bb0(%l: f32, %r: f32):
      %v = memref.load %a[%lb] : memref<64xf32>
      %s = arith.addf %l, %v : f32
      scf.reduce.return %s : f32
    }
  }
  return
}

// What `reinterpret_cast` shows of a row need not be in it.
// CHECK-LABEL: func.func @reinterpreted_row
// CHECK: "npu.write"
// CHECK: "npu.read"
func.func @reinterpreted_row() {
  %a = memref.alloc() : memref<2x64xf32>
  %row0 = memref.subview %a[0, 0] [1, 64] [1, 1] : memref<2x64xf32> to memref<64xf32, strided<[1]>>
  %row1 = memref.subview %a[1, 0] [1, 64] [1, 1] : memref<2x64xf32> to memref<64xf32, strided<[1], offset: 64>>
  %other = memref.reinterpret_cast %row0 to offset: [64], sizes: [64], strides: [1] : memref<64xf32, strided<[1]>> to memref<64xf32, strided<[1], offset: 64>>
  %x = "npu.first"() {async.engine = "S", async.latency = 9 : i64} : () -> i32
  "npu.write"(%x, %row1) {async.engine = "S", async.writes = [1]} : (i32, memref<64xf32, strided<[1], offset: 64>>) -> ()
  "npu.read"(%other) {async.engine = "V", async.latency = 50 : i64, async.reads = [0]} : (memref<64xf32, strided<[1], offset: 64>>) -> ()
  return
}
