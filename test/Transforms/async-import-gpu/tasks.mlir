// Tasks that return tokens of `gpu`, as upstream's `--gpu-async-region` makes them.

// RUN: async-opt %s --async-import-gpu --canonicalize | FileCheck %s
// RUN: async-opt %s --async-import-gpu="gpu-tokens=stream" --canonicalize | FileCheck %s --check-prefixes=CHECK,STREAM

!d = memref<8xf32, 1>

// The token of the task waits for what is in the stream at its end.
// CHECK-LABEL: func.func @returned
// CHECK: %[[T:.+]], %[[V:.+]] = async.region -> (index) {
// STREAM: %[[X:.+]] = gpux.transfer async %
// STREAM: %[[Y:.+]] = gpux.transfer async [%[[X]]]
// STREAM: async.yield %{{.+}}, %[[Y]] : index, !async.token
// CHECK: %[[U:.+]] = gpux.transfer async [%[[T]]]
// CHECK: async.await %[[U]]
func.func @returned(%a: !d, %b: !d, %n: index) -> index {
  %t, %v:2 = async.region -> (index, !gpu.async.token) {
    %w = gpu.wait async
    %x = gpu.memcpy async [%w] %a, %b : !d, !d
    %y = gpu.memcpy async [%w] %a, %b : !d, !d
    %k = arith.addi %n, %n : index
    async.yield %k, %x : index, !gpu.async.token
  }
  async.await %t
  %s = gpu.wait async [%v#1]
  %u = gpu.memcpy async [%s] %a, %b : !d, !d
  gpu.wait [%u]
  return %v#0 : index
}
