// Limits of engines on which nothing runs are told, but not where nothing runs on any: a pass may run on each function by itself.
//
// RUN: async-opt %s --allow-unregistered-dialect --gpux-schedule=event-limits=MTE2:W=4 2>&1 | FileCheck %s
// RUN: async-opt %s --allow-unregistered-dialect --gpux-insert-flags=event-limits=MTE2:W=4 2>&1 | FileCheck %s
// RUN: async-opt --gpux-schedule=event-limits=MTE2:W=4 /dev/null 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: warning: option 'event-limits' has engine 'W', on which nothing runs here
// CHECK: note: there are 'MTE2', 'V'
// NONE-NOT: warning
// NONE: module
func.func @load_and_use() {
  %a = "npu.load"() {async.engine = "MTE2"} : () -> i1
  "npu.abs"(%a) {async.engine = "V"} : (i1) -> ()
  return
}
