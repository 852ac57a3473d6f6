// RUN: async-opt %s --verify-diagnostics

func.func @negative() {
  // expected-error @+1 {{attribute 'device' failed to satisfy constraint}}
  %t = "async.region"() <{device = -1 : i32}> ({
    "async.yield"() : () -> ()
  }) : () -> !async.token
  return
}
