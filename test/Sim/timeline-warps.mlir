// Warps share the way from memory in the order of time: each one's first copy comes before any one's second. (The
// interpreter runs one warp after the other.) A copy of the warp takes 4 cycles on its way, and 100 more to land.
//
// RUN: async-sim %s --trace=%t.json --cost latency=100 --cost bytes-per-cycle=32 | FileCheck %s
// RUN: FileCheck %s --check-prefix=TRACE < %t.json

// The first wait is over when the first copy has landed, after 106 and 110 cycles; the second one 8 cycles later.
// CHECK: two_warps: clean
// CHECK: two_warps in {{.*}}: 119 cycles; warps wait 218: 218 for copies, 0 at block barriers, 0 at mbarriers
// TRACE-COUNT-8: "cat":"copy"
func.func @two_warps(%src: memref<128xf32>) attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
  %a = memref.alloc() : memref<64xf32, 3>
  %b = memref.alloc() : memref<64xf32, 3>
  %t = gpu.thread_id x
  gpux.copy %src[%t], %a[%t], 1 : memref<128xf32> to memref<64xf32, 3>
  gpux.commit_group <cp_async>
  gpux.copy %src[%t], %b[%t], 1 : memref<128xf32> to memref<64xf32, 3>
  gpux.commit_group <cp_async>
  gpux.wait_group <cp_async>, 1
  gpux.wait_group <cp_async>, 0
  return
}
