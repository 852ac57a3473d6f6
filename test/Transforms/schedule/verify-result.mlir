// What the pass writes is checked, and is the same without the check.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-schedule -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: async-opt %s --allow-unregistered-dialect --gpux-schedule=verify-result=false -o %t.unchecked
// RUN: diff %t %t.unchecked
// RUN: async-opt %s --allow-unregistered-dialect --gpux-schedule=chip=sm_80 2>/dev/null | FileCheck %s --check-prefix=THREAD

!tiles = memref<2x64xf32>
!shared = memref<2x64xf32, #gpu.address_space<workgroup>>

// The load of the other row crosses what computes on this one; the store of this row crosses neither.
// CHECK-LABEL: func.func @rows
// CHECK: "npu.load"{{.*}}async.writes
// CHECK-NEXT: "npu.load"{{.*}}async.writes
// CHECK-NEXT: "npu.add"
// CHECK-NEXT: "npu.store"
func.func @rows(%a: memref<64xf32> {llvm.noalias}, %b: memref<64xf32> {llvm.noalias}) {
  "npu.load"(%a) {async.engine = "MTE2", async.latency = 20 : i64, async.occupancy = 1 : i64, async.writes = [0]} : (memref<64xf32>) -> ()
  "npu.add"(%a) {async.engine = "V", async.latency = 5 : i64, async.reads = [0], async.writes = [0]} : (memref<64xf32>) -> ()
  "npu.load"(%b) {async.engine = "MTE2", async.latency = 20 : i64, async.occupancy = 1 : i64, async.writes = [0]} : (memref<64xf32>) -> ()
  "npu.store"(%a, %b) {async.engine = "MTE3", async.latency = 20 : i64, async.reads = [0, 1]} : (memref<64xf32>, memref<64xf32>) -> ()
  return
}

// The await sinks past what computes, as far as the load that needs it.
// THREAD-LABEL: func.func @copied
// THREAD: gpux.copy
// THREAD: math.exp
// THREAD: async.await
// THREAD: memref.load
func.func @copied(%src: !tiles, %dst: !shared, %x: f32, %out: !tiles) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpux.copy async %src[%c0, %c0], %dst[%c0, %c0], 4 : !tiles to !shared
  async.await %t
  %e = math.exp %x : f32
  memref.store %e, %out[%c1, %c0] : !tiles
  %v = memref.load %dst[%c0, %c0] : !shared
  memref.store %v, %out[%c0, %c0] : !tiles
  return
}
