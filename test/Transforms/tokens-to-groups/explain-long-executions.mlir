// An execution that needs the count is only looked for among short ones.
//
// RUN: async-opt %s --gpux-tokens-to-groups=explain -o /dev/null 2>&1 | FileCheck %s

// CHECK: 18:3: remark: wait_group <cp_async>, 0: waits for gpux.copy at 14:8
// CHECK-NEXT: async.await
// CHECK-NEXT: ^
// CHECK-NEXT: 18:3: note: no short execution needs this count, except through an earlier instance of the same wait
// CHECK-NOT: wait_group
func.func @very_long(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 100000 : index
  %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  scf.for %k = %c0 to %many step %c1 {
    %u = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  }
  async.await %t
  return
}
