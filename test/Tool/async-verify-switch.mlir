// What a `cf.switch` hands on may be one of several results, which upstream's parser does not take in its custom format. The certificate has the
// kernel in a form that it takes.
//
// RUN: async-opt %s --gpux-tokens-to-groups=certificates=%t.certificates -o %t.mlir
// RUN: async-verify %t.mlir %t.certificates | FileCheck %s
// CHECK: @k: verified (1 awaits

func.func @k(%src: memref<16xf32>, %dst: memref<256xf32, 3>, %n: i32, %c: i1) {
  %c0 = arith.constant 0 : index
  %a = gpux.copy async %src[%c0], %dst[%c0], 1 : memref<16xf32> to memref<256xf32, 3>
  %r, %s = scf.if %c -> (!async.token, !async.token) {
    scf.yield %a, %a : !async.token, !async.token
  } else {
    %x = async.ready
    scf.yield %x, %a : !async.token, !async.token
  }
  cf.switch %n : i32, [default: ^bb1(%r : !async.token), 1: ^bb1(%s : !async.token)]
^bb1(%t: !async.token):
  async.await %t
  return
}
