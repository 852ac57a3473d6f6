// What can't be made structured, and has tensors, is an error at its place; upstream's One-Shot Bufferize might get it wrong.

// RUN: not async-opt run %s 2>&1 | FileCheck %s

// CHECK: tensors-in-blocks-refused.mlir:[[#@LINE+3]]:1: error: 'async.func' op has tensors in several blocks, and can't be bufferized like that
// CHECK: tensors-in-blocks-refused.mlir:[[#@LINE+2]]:1: note: make the branches structured (scf.if, scf.while), or give it buffers instead of tensors
// CHECK-NOT: error:
async.func private @blocks(%c: i1, %a: tensor<4xi64>, %b: tensor<4xi64>) -> (tensor<4xi64>, !async.token) {
  %ready = async.ready
  cf.cond_br %c, ^first, ^second
^first:
  async.yield %a, %ready : tensor<4xi64>, !async.token
^second:
  async.yield %b, %ready : tensor<4xi64>, !async.token
}

func.func @main() {
  return
}
