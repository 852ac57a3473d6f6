// Engine S writes the tile, in branches that need not be taken. What comes later waits for the last ones that count, and with more than 32 branches for
// all that S did before as well: none of them may have been taken, or the last one alone, which M waits for inside of it.
//
// RUN: async-opt %s --gpux-insert-flags=event-limit=99 --allow-unregistered-dialect 2>/dev/null | FileCheck %s

// CHECK-LABEL: func.func @many_branches
// CHECK:       "npu.first"
// CHECK-COUNT-40: "npu.use"
// CHECK:       gpux.wait_flag <"S", "M", {{[0-9]+}}>
// CHECK-NEXT:  "npu.last"
func.func @many_branches(%tile: memref<64xf32>, %p: i1) {
  "npu.first"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> ()
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  scf.if %p {
    %x = "npu.again"(%tile) {async.engine = "S", async.writes = [0]} : (memref<64xf32>) -> i32
    "npu.use"(%x) {async.engine = "M"} : (i32) -> ()
  }
  "npu.last"(%tile) {async.engine = "M", async.writes = [0]} : (memref<64xf32>) -> ()
  return
}
