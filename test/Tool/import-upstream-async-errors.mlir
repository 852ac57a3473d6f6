// What can't be imported is said at the operation.

// RUN: split-file %s %t.dir

// RUN: not async-translate --import-upstream-async %t.dir/low-level.mlir 2>&1 | FileCheck %s --check-prefix=LOW
// LOW: low-level.mlir:3:8: error: 'async.runtime.is_error' op can't be imported: it is what upstream's dialect 'async' is lowered to
// LOW: note: import the program as it was before --async-to-async-runtime

// RUN: not async-translate --import-upstream-async %t.dir/workers.mlir 2>&1 | FileCheck %s --check-prefix=WORKERS
// WORKERS: workers.mlir:2:8: error: 'async.runtime.num_worker_threads' op can't be imported
// WORKERS: note: give --async-parallel-for a number: num-workers=8

// RUN: not async-translate --import-upstream-async %t.dir/rank.mlir 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: rank.mlir:3:8: error: 'async.add_to_group' op returns a rank that is used: tokens have no ranks

// RUN: not async-translate --import-upstream-async %t.dir/escapes.mlir 2>&1 | FileCheck %s --check-prefix=ESCAPES
// ESCAPES: escapes.mlir:4:8: error: 'builtin.unrealized_conversion_cast' op has '!async.value<f32>' where it can't be followed
// ESCAPES: escapes.mlir:3:12: note: the value comes from here
// ESCAPES: note: await it, and pass on what it wraps

// RUN: not async-translate --import-upstream-async %t.dir/nested.mlir 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: nested.mlir:2:12: error: 'async.execute' op has '!async.token' where it can't be followed, in '!async.value<!async.token>'

// RUN: not async-translate --import-upstream-async %t.dir/returned.mlir 2>&1 | FileCheck %s --check-prefix=RETURNED
// RETURNED: returned.mlir:1:1: error: 'func.func' op has a group where it can't be followed, in its type
// RETURNED: note: groups can be followed in the func.func that makes them, and into those that it calls

// RUN: not async-translate --import-upstream-async %t.dir/selected.mlir 2>&1 | FileCheck %s --check-prefix=SELECTED
// SELECTED: selected.mlir:4:8: error: 'arith.select' op has '!async.group' where it can't be followed

// RUN: not async-translate --import-upstream-async %t.dir/later.mlir 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: later.mlir:3:8: error: 'async.execute' op awaits a group to which more may be added after the task has started
// LATER: later.mlir:7:8: note: here

// RUN: not async-translate --import-upstream-async %t.dir/later-in-loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP
// LOOP: later-in-loop.mlir:5:10: error: 'async.execute' op awaits a group to which more may be added after the task has started
// LOOP: later-in-loop.mlir:4:10: note: here

// RUN: not async-translate --import-upstream-async %t.dir/argument.mlir 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: argument.mlir:2:8: error: 'async.execute' op awaits a group to which more may be added after the task has started
// ARGUMENT: argument.mlir:1:17: note: the group is a function's argument

// RUN: not async-translate --import-upstream-async %t.dir/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: twice.mlir:6:3: error: 'func.call' op passes the same group twice

// RUN: not async-translate --import-upstream-async %t.dir/parallel.mlir 2>&1 | FileCheck %s --check-prefix=PARALLEL
// PARALLEL: parallel.mlir:3:3: error: 'scf.parallel' op adds to a group that is made outside of it, and its body can't pass on a token
// PARALLEL: note: make a group inside, and await it there

// Where it does not parse, upstream says so.
// RUN: not async-translate --import-upstream-async %t.dir/ours.mlir 2>&1 | FileCheck %s --check-prefix=OURS
// OURS: ours.mlir:2:8: error:

//--- low-level.mlir
func.func @f() -> i1 {
  %t = async.execute { async.yield }
  %e = async.runtime.is_error %t : !async.token
  return %e : i1
}
//--- workers.mlir
func.func @f() -> index {
  %n = async.runtime.num_worker_threads : index
  return %n : index
}
//--- rank.mlir
func.func @f(%t: !async.token, %n: index) -> index {
  %g = async.create_group %n : !async.group
  %r = async.add_to_group %t, %g : !async.token
  return %r : index
}
//--- escapes.mlir
func.func @f() -> i64 {
  %c = arith.constant 1.0 : f32
  %t, %f = async.execute -> !async.value<f32> { async.yield %c : f32 }
  %x = builtin.unrealized_conversion_cast %f : !async.value<f32> to i64
  return %x : i64
}
//--- nested.mlir
func.func @f(%u: !async.token) {
  %t, %f = async.execute -> !async.value<!async.token> { async.yield %u : !async.token }
  return
}
//--- returned.mlir
func.func @f(%n: index) -> !async.group {
  %g = async.create_group %n : !async.group
  return %g : !async.group
}
//--- selected.mlir
func.func @f(%n: index, %c: i1, %t: !async.token) {
  %g = async.create_group %n : !async.group
  %h = async.create_group %n : !async.group
  %s = arith.select %c, %g, %h : !async.group
  %r = async.add_to_group %t, %s : !async.token
  return
}
//--- later.mlir
func.func @f(%n: index, %t: !async.token) {
  %g = async.create_group %n : !async.group
  %u = async.execute {
    async.await_all %g
    async.yield
  }
  %r = async.add_to_group %t, %g : !async.token
  return
}
//--- later-in-loop.mlir
func.func @f(%n: index, %m: index, %t: !async.token) {
  %g = async.create_group %n : !async.group
  scf.for %i = %n to %m step %n {
    %r = async.add_to_group %t, %g : !async.token
    %u = async.execute {
      async.await_all %g
      async.yield
    }
  }
  return
}
//--- argument.mlir
func.func @wait(%g: !async.group) {
  %u = async.execute {
    async.await_all %g
    async.yield
  }
  return
}
//--- twice.mlir
func.func @g(%g: !async.group, %h: !async.group) {
  return
}
func.func @f(%n: index) {
  %g = async.create_group %n : !async.group
  call @g(%g, %g) : (!async.group, !async.group) -> ()
  return
}
//--- parallel.mlir
func.func @f(%n: index, %m: index, %t: !async.token) {
  %g = async.create_group %n : !async.group
  scf.parallel (%i) = (%n) to (%m) step (%n) {
    %r = async.add_to_group %t, %g : !async.token
    scf.reduce
  }
  async.await_all %g
  return
}
//--- ours.mlir
func.func @f() {
  %t = async.region { async.yield }
  return
}
