// RUN: async-opt %s --split-input-file --verify-diagnostics | async-opt --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @placed
// CHECK: async.region [%{{.+}}] on(device 1) -> (f32) {
// CHECK: async.region on(device 0) {
func.func @placed(%t: !async.token, %x: f32) -> (!async.token, f32) {
  %u, %v = async.region [%t] on(device 1) -> (f32) {
    async.yield %x : f32
  }
  %w = async.region on(device 0) {
    async.await %t
  }
  async.await %w
  return %u, %v : !async.token, f32
}
