// `async-opt reduce` is upstream's reducer, with our dialects. Interesting is here what awaits something.

// RUN: async-opt reduce %s --reduction-tree='traversal-mode=0 test=%S/Inputs/awaits.sh' | FileCheck %s

// A test that does not find the problem in the file itself:
// RUN: not async-opt reduce %s --reduction-tree='traversal-mode=0 test=/bin/true' 2>&1 | FileCheck %s --check-prefix=BORING
// BORING: async-opt reduce: nothing was reduced

// CHECK-NOT: @unused
// CHECK: async.await
// CHECK-NOT: @unused
func.func @unused(%i: index) {
  return
}

func.func @interesting(%t: !async.token, %i: index) {
  %double = arith.addi %i, %i : index
  async.await %t
  return
}
