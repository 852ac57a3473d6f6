// The count that is explained is the one that is emitted, and the limit is that of the queue.
//
// RUN: async-opt %s --gpux-tokens-to-groups=explain -o /dev/null 2>&1 | FileCheck %s

// CHECK: 14:3: remark: wait_group <wgmma>, 7: waits for gpux.commit_group at 9:8
// CHECK-NEXT: async.await
// CHECK: 14:3: note: more groups may stay in flight, but the hardware counts no further than 7
func.func @wgmma(%n: index) {
  %t = gpux.commit_group async <wgmma>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 { gpux.commit_group <wgmma> }
  async.await %t
  return
}
