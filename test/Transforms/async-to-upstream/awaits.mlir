// An await of upstream's dialect has one token.

// RUN: async-opt %s --split-input-file --async-to-upstream --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @several
// CHECK: %[[J:.+]] = async.join %{{.+}}, %{{.+}}
// CHECK-NEXT: async.await %[[J]]
// CHECK-NEXT: async.await %{{[a-z0-9_]+}}{{$}}
// CHECK-NEXT: return
func.func @several(%t: !async.token, %u: !async.token) {
  async.await %t, %u
  async.await %t
  async.await ()
  return
}

// -----

// What upstream's dialect prints is read, too.
// CHECK-LABEL: func.func @upstreams_spelling
// CHECK: async.await %{{.+}}
func.func @upstreams_spelling(%t: !async.token) {
  async.await %t : !async.token
  return
}

// -----

func.func @region() {
  // expected-error @+2 {{'async.region' op has no counterpart in upstream's dialect 'async'}}
  // expected-note @+1 {{in device code, run --gpux-inline-calls or --gpux-tokens-to-groups first}}
  %t = async.region {
    async.yield
  }
  async.await %t
  return
}
