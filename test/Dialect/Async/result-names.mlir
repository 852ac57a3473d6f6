// RUN: async-opt %s | FileCheck %s

// Results without names of their own get ones that say what they are.
func.func @names(%v: f32) {
  // CHECK: %token, %values = async.region
  %0, %1 = async.region -> (f32) {
    async.yield %v : f32
  }
  // CHECK: %ready = async.ready
  %2 = async.ready
  // CHECK: %token_{{.*}} = async.join %token, %ready
  %3 = async.join %0, %2
  return
}
