// The program of the tutorial: it is scheduled, then engines are told to wait for each other.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-schedule --gpux-insert-flags 2>/dev/null | FileCheck %s

// CHECK-LABEL: func.func @tiles
// CHECK:       tile = 0
// CHECK-NEXT:  gpux.set_flag <"MTE2", "M", 0>
// CHECK-NEXT:  tile = 1
// CHECK-NEXT:  gpux.set_flag <"MTE2", "M", 1>
// CHECK-NEXT:  gpux.wait_flag <"MTE2", "M", 0>
// CHECK-NEXT:  "npu.matmul"
func.func @tiles(%in: memref<2x64xf32>, %out: memref<2x64xf32>) {
  %x = "npu.load"(%in) {tile = 0, async.engine = "MTE2", async.latency = 20 : i64, async.occupancy = 4 : i64, async.reads = [0]} : (memref<2x64xf32>) -> vector<64xf32>
  %p = "npu.matmul"(%x) {async.engine = "M", async.latency = 10 : i64} : (vector<64xf32>) -> vector<64xf32>
  %q = "npu.relu"(%p) {async.engine = "V", async.latency = 5 : i64} : (vector<64xf32>) -> vector<64xf32>
  %y = "npu.load"(%in) {tile = 1, async.engine = "MTE2", async.latency = 20 : i64, async.occupancy = 4 : i64, async.reads = [0]} : (memref<2x64xf32>) -> vector<64xf32>
  %r = "npu.matmul"(%y) {async.engine = "M", async.latency = 10 : i64} : (vector<64xf32>) -> vector<64xf32>
  %s = "npu.add"(%q, %r) {async.engine = "V", async.latency = 5 : i64} : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>
  "npu.store"(%s, %out) {async.engine = "MTE3", async.latency = 20 : i64, async.writes = [1]} : (vector<64xf32>, memref<2x64xf32>) -> ()
  return
}
