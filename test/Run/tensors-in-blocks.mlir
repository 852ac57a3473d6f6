// Branches between blocks with tensors are made structured before buffers are given to the tensors. One-Shot Bufferize, on the blocks, would
// have the first program write to the buffer that is read after that.

// RUN: async-opt run %s --entry=after_a_loop | FileCheck %s --check-prefix=LOOP
// RUN: async-opt run %s --entry=carried | FileCheck %s --check-prefix=CARRIED
// RUN: async-opt run %s --entry=with_a_region | FileCheck %s --check-prefix=REGION
// RUN: async-opt run %s --entry=exits | FileCheck %s --check-prefix=EXITS

func.func private @printI64(i64)
func.func private @printNewline()

func.func private @fill_after_a_loop(%b: tensor<4xi64>, %n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7 : i64
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^exit:
  %filled = linalg.fill ins(%seven : i64) outs(%b : tensor<4xi64>) -> tensor<4xi64>
  %new = tensor.extract %filled[%c1] : tensor<4xi64>
  %old = tensor.extract %b[%c0] : tensor<4xi64>
  %sum = arith.addi %old, %new : i64
  return %sum : i64
}

// LOOP: 27
func.func @after_a_loop() {
  %b = arith.constant dense<[20, 21, 22, 23]> : tensor<4xi64>
  %n = arith.constant 2 : index
  %sum = call @fill_after_a_loop(%b, %n) : (tensor<4xi64>, index) -> i64
  call @printI64(%sum) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}

// A tensor that a loop of blocks carries, of which the first version is still read.
func.func private @carry(%b: tensor<4xi64>, %n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0, %b : index, tensor<4xi64>)
^head(%i: index, %t: tensor<4xi64>):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  %old = tensor.extract %t[%c0] : tensor<4xi64>
  %first = tensor.extract %b[%c0] : tensor<4xi64>
  %sum = arith.addi %old, %first : i64
  %u = tensor.insert %sum into %t[%c0] : tensor<4xi64>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next, %u : index, tensor<4xi64>)
^exit:
  %r = tensor.extract %t[%c0] : tensor<4xi64>
  return %r : i64
}

// CARRIED: 80
func.func @carried() {
  %b = arith.constant dense<[20, 21, 22, 23]> : tensor<4xi64>
  %n = arith.constant 3 : index
  %sum = call @carry(%b, %n) : (tensor<4xi64>, index) -> i64
  call @printI64(%sum) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}

func.func private @odd(%n: i64) -> i1 {
  %bit = arith.trunci %n : i64 to i1
  return %bit : i1
}

// A region yields the tensor in one block, and another one awaits it; a third path ends early.
// REGION: 27
func.func @with_a_region() {
  %c0 = arith.constant 0 : index
  %b = arith.constant dense<[20, 21, 22, 23]> : tensor<4xi64>
  %seven = arith.constant 7 : i64
  %x = tensor.extract %b[%c0] : tensor<4xi64>
  %odd = call @odd(%x) : (i64) -> i1
  cf.cond_br %odd, ^end, ^work
^work:
  %t, %v = async.region -> (tensor<4xi64>) {
    %filled = linalg.fill ins(%seven : i64) outs(%b : tensor<4xi64>) -> tensor<4xi64>
    async.yield %filled : tensor<4xi64>
  }
  cf.br ^wait(%t, %v : !async.token, tensor<4xi64>)
^wait(%token: !async.token, %value: tensor<4xi64>):
  async.await %token
  %new = tensor.extract %value[%c0] : tensor<4xi64>
  %sum = arith.addi %new, %x : i64
  call @printI64(%sum) : (i64) -> ()
  call @printNewline() : () -> ()
  return
^end:
  return
}

// A path on which the tensor that is read behind the branch has no value, and no known size.
func.func private @two_exits(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %t = tensor.empty(%i) : tensor<?xi64>
  %done = arith.cmpi eq, %i, %n : index
  cf.cond_br %done, ^exit(%t : tensor<?xi64>), ^more
^more:
  %early = arith.cmpi eq, %i, %c2 : index
  cf.cond_br %early, ^two, ^next
^next:
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j : index)
^exit(%u: tensor<?xi64>):
  %size = tensor.dim %u, %c0 : tensor<?xi64>
  return %size : index
^two:
  %hundred = arith.constant 100 : index
  return %hundred : index
}

// EXITS: 1
// EXITS: 100
func.func @exits() {
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %one = call @two_exits(%c1) : (index) -> index
  %a = arith.index_cast %one : index to i64
  call @printI64(%a) : (i64) -> ()
  call @printNewline() : () -> ()
  %hundred = call @two_exits(%c7) : (index) -> index
  %b = arith.index_cast %hundred : index to i64
  call @printI64(%b) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}
