// What the check of a pass takes is shown below the pass, as analyses are. There is nothing to show where nothing is checked.
//
// RUN: async-opt %s --gpux-tokens-to-groups --mlir-timing -o %t.mlir 2>&1 | FileCheck %s
// RUN: async-opt %s --gpux-tokens-to-groups=verify-result=false --mlir-timing -o %t.mlir 2>&1 | FileCheck %s --check-prefix=UNCHECKED
// RUN: async-opt %s --gpux-insert-barriers --mlir-timing -o %t.mlir 2>&1 | FileCheck %s --check-prefix=BARRIERS

// CHECK:      {{^ +[0-9.]+ \(.*\)  gpux-tokens-to-groups$}}
// CHECK-NEXT: {{^ +[0-9.]+ \(.*\)    \(A\) Check$}}
// UNCHECKED:     gpux-tokens-to-groups
// UNCHECKED-NOT: Check
// BARRIERS:      {{^ +[0-9.]+ \(.*\)  gpux-insert-barriers$}}
// BARRIERS-NEXT: {{^ +[0-9.]+ \(.*\)    \(A\) Check$}}
func.func @copy(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %token = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  async.await %token
  return
}
