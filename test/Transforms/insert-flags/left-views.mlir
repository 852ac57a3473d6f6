// RUN: async-opt %s --gpux-insert-flags --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// A view that is left: what is made of it may be anywhere in its buffer.

!row = memref<16xf32>
!at_16 = memref<16xf32, strided<[1], offset: 16>>

// The cast of the view at byte 0 shows what the view at byte 64 does.
//
// CHECK-LABEL: func.func @cast_to_the_next_view
// CHECK:       "npu.store"
// CHECK-NEXT:  gpux.set_flag <"V", "MTE", 0>
// CHECK-NEXT:  gpux.wait_flag <"V", "MTE", 0>
// CHECK-NEXT:  "npu.load"
func.func @cast_to_the_next_view() {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %buf = memref.alloc() : memref<256xi8>
  %a = memref.view %buf[%c0][] : memref<256xi8> to !row
  %b = memref.view %buf[%c64][] : memref<256xi8> to !row
  %cast = memref.reinterpret_cast %a to offset: [16], sizes: [16], strides: [1] : !row to !at_16
  "npu.store"(%cast) {async.engine = "V", async.writes = [0]} : (!at_16) -> ()
  "npu.load"(%b) {async.engine = "MTE", async.reads = [0]} : (!row) -> ()
  return
}

// Rows of what is made of the start of another row.
//
// CHECK-LABEL: func.func @row_of_what_is_left
// CHECK:       "npu.store"
// CHECK-NEXT:  gpux.set_flag <"V", "MTE", 0>
// CHECK-NEXT:  gpux.wait_flag <"V", "MTE", 0>
// CHECK-NEXT:  "npu.load"
func.func @row_of_what_is_left() {
  %buf = memref.alloc() : memref<2x16xf32>
  %a = memref.subview %buf[1, 0] [1, 16] [1, 1] : memref<2x16xf32> to !at_16
  %b = memref.subview %buf[0, 0] [1, 16] [1, 1] : memref<2x16xf32> to memref<16xf32, strided<[1]>>
  %start, %offset, %size, %stride = memref.extract_strided_metadata %a : !at_16 -> memref<f32>, index, index, index
  "npu.store"(%start) {async.engine = "V", async.writes = [0]} : (memref<f32>) -> ()
  "npu.load"(%b) {async.engine = "MTE", async.reads = [0]} : (memref<16xf32, strided<[1]>>) -> ()
  return
}

// A part of a view stays in the view.
//
// CHECK-LABEL: func.func @parts_of_views
// CHECK-NOT:   gpux.
// CHECK:       return
func.func @parts_of_views() {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %buf = memref.alloc() : memref<256xi8>
  %a = memref.view %buf[%c0][] : memref<256xi8> to !row
  %b = memref.view %buf[%c64][] : memref<256xi8> to !row
  %half = memref.subview %a[8] [8] [1] : !row to memref<8xf32, strided<[1], offset: 8>>
  "npu.store"(%half) {async.engine = "V", async.writes = [0]} : (memref<8xf32, strided<[1], offset: 8>>) -> ()
  "npu.load"(%b) {async.engine = "MTE", async.reads = [0]} : (!row) -> ()
  return
}
