// Each reference to a token is released once, on every path. A caller keeps its own.
//
// RUN: async-opt %s --async-outline --async-to-runtime | FileCheck %s

// What is selected is another name: it needs a reference of its own.
// CHECK-LABEL: func.func @selected
// CHECK-NEXT: %[[CHOSEN:.*]] = arith.select
// CHECK-NEXT: call @asyncopt_rt_retain(%[[CHOSEN]])
// CHECK-NEXT: return %[[CHOSEN]]
func.func @selected(%c: i1, %a: !async.token, %b: !async.token) -> !async.token {
  %chosen = arith.select %c, %a, %b : !async.token
  return %chosen : !async.token
}

// CHECK-LABEL: func.func @returned_twice
// CHECK-COUNT-2: call @asyncopt_rt_retain(%arg0)
// CHECK-NEXT: return %arg0, %arg0
func.func @returned_twice(%t: !async.token) -> (!async.token, !async.token) {
  return %t, %t : !async.token, !async.token
}

// Both edges lead to a block that others lead to: what has to be done on one of them gets a block.
// CHECK-LABEL: func.func @used_on_one_edge
// CHECK: cf.cond_br %arg0, ^[[WAITS:bb[0-9]+]], ^[[GIVES_UP:bb[0-9]+]]
// CHECK: ^[[GIVES_UP]]:
// CHECK-NEXT: call @asyncopt_rt_release
// CHECK-NEXT: cf.br ^[[ENDS:bb[0-9]+]]
// CHECK: ^[[WAITS]]:
// CHECK-NOT: release
// CHECK: cf.cond_br %arg1, ^[[DONE:bb[0-9]+]], ^[[WAITS]]
// CHECK: ^[[DONE]]:
// CHECK-NEXT: call @asyncopt_rt_release
// CHECK-NEXT: cf.br ^[[ENDS]]
// CHECK: ^[[ENDS]]:
// CHECK-NEXT: return
func.func @used_on_one_edge(%c: i1, %d: i1) {
  %t = async.region {
    async.yield
  }
  cf.cond_br %c, ^waits, ^ends
^waits:
  async.await %t
  cf.cond_br %d, ^ends, ^waits
^ends:
  return
}

// CHECK-LABEL: func.func @unused_argument
// CHECK: ^{{.*}}(%[[T:.*]]: !llvm.ptr): // 2 preds
// CHECK-NEXT: call @asyncopt_rt_release(%[[T]])
// CHECK-NEXT: return
func.func @unused_argument(%c: i1, %a: !async.token, %b: !async.token) {
  cf.cond_br %c, ^first, ^second
^first:
  cf.br ^next(%a : !async.token)
^second:
  cf.br ^next(%b : !async.token)
^next(%t: !async.token):
  return
}
