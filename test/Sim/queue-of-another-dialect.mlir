// An engine that the simulator knows by its interfaces only: operations of a test dialect on a queue of its own. They access
// no memory, but are in flight until somebody waits, and the counted form has to wait for all that the tokens wait for.
//
// RUN: async-opt %s --gpux-tokens-to-groups -o %t.counted.mlir
// RUN: async-sim %t.counted.mlir --refines=%s --timeline=%t.svg | FileCheck %s --check-prefix=CLEAN
// RUN: FileCheck %s --check-prefix=LANE --input-file=%t.svg
// RUN: sed -e "s/test_async.wait 1/test_async.wait 2/" %t.counted.mlir > %t.relaxed.mlir
// RUN: not async-sim %t.relaxed.mlir --refines=%s | FileCheck %s --check-prefix=LATE
// RUN: sed -e "s/test_async.commit//" %t.counted.mlir > %t.open.mlir
// RUN: async-sim %t.open.mlir | FileCheck %s --check-prefix=OPEN

// CLEAN: counted: clean
// CLEAN-NOT: error
// LANE: >test</text>
// LATE: counted: error: {{.*}} is reached while a copy may be in flight that {{.*}} has waited for by now
// LATE-NEXT: the copy:  test_async.issue at
// LATE-NEXT: last wait: test_async.wait at
// OPEN: note: test_async.issue: no group is committed {{.*}} this, so that no wait waits for it
func.func @counted(%buffer: memref<4xi32, #gpu.address_space<workgroup>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %a = test_async.issue : !async.token
  %b = test_async.issue : !async.token
  %c = test_async.issue %a : !async.token
  async.await %b
  memref.store %c1, %buffer[%c0] : memref<4xi32, #gpu.address_space<workgroup>>
  async.await %c
  return
}
