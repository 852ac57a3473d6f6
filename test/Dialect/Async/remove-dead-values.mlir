// RUN: async-opt %s --remove-dead-values | FileCheck %s

// CHECK-LABEL: async.func private @two
// CHECK-SAME: (%{{.*}}: f32) -> (f32, !async.token)
async.func private @two(%x: f32) -> (f32, f32, !async.token) {
  // CHECK: %[[T:[a-z_0-9]+]], %[[P:[a-z_0-9]+]] = async.region -> (f32)
  // CHECK: async.yield %[[P]], %[[T]] : f32, !async.token
  %t, %p:2 = async.region -> (f32, f32) {
    %y = arith.addf %x, %x : f32
    async.yield %y, %x : f32, f32
  }
  async.yield %p#0, %p#1, %t : f32, f32, !async.token
}

// CHECK-LABEL: func.func @second_result_is_unused
func.func @second_result_is_unused(%x: f32) -> f32 {
  // CHECK: async.call @two(%{{.*}}) : (f32) -> (f32, !async.token)
  %a, %b, %t = async.call @two(%x) : (f32) -> (f32, f32, !async.token)
  async.await %t
  return %a : f32
}
