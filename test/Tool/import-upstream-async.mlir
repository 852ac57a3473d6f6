// Programs in upstream's dialect `async` as programs in ours. `async-sim` runs them, with the same results under all schedules.
//
// RUN: async-translate --import-upstream-async %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: async-sim %t.mlir --kernel=values --print | FileCheck %s --check-prefix=VALUES
// RUN: async-sim %t.mlir --kernel=values --print --schedule=random --runs=20 | FileCheck %s --check-prefix=VALUES
// RUN: async-sim %t.mlir --kernel=group_in_loop --print | FileCheck %s --check-prefix=GROUP
// RUN: async-sim %t.mlir --kernel=group_in_loop --print --schedule=random --runs=20 | FileCheck %s --check-prefix=GROUP
// RUN: async-sim %t.mlir --kernel=group_in_task --print --schedule=random --runs=20 | FileCheck %s --check-prefix=TASK
// RUN: async-sim %t.mlir --kernel=functions --print | FileCheck %s --check-prefix=FUNCTIONS
// RUN: async-sim %t.mlir --kernel=functions --print --schedule=early | FileCheck %s --check-prefix=FUNCTIONS
// RUN: async-sim %t.mlir --kernel=adds_in_function --print --schedule=random --runs=20 | FileCheck %s --check-prefix=CALLED
// RUN: async-sim %t.mlir --kernel=carried --print | FileCheck %s --check-prefix=CARRIED
// RUN: async-sim %t.mlir --kernel=carried --print --schedule=random --runs=20 | FileCheck %s --check-prefix=CARRIED
// RUN: async-sim %t.mlir --kernel=blocks --arg 0=5 --print --schedule=random --runs=20 | FileCheck %s --check-prefix=BLOCKS
// RUN: not async-sim %t.mlir --kernel=fails | FileCheck %s --check-prefix=FAILS

// A value is a token, and what it wraps. An await of what is complete goes, and what is awaited last is yielded.
// CHECK-LABEL: func.func @values
// CHECK: %[[T:.+]], %[[V:.+]] = async.region -> (f32) {
// CHECK: async.await %[[T]]
// CHECK-NEXT: memref.store %[[V]]
// CHECK: %[[T1:.+]], %[[V1:.+]] = async.region [%[[T]]] -> (f32) {
// CHECK: %[[T2:.+]], %[[V2:.+]] = async.region -> (f32) {
// CHECK: async.yield %[[V2]], %[[T2]] : f32, !async.token
// CHECK: %[[T3:.+]], %[[M:.+]] = async.region [%[[T1]]] -> (memref<f32>) {
// CHECK: arith.addf %[[V1]], %[[V]]
// CHECK: async.await %[[T3]]
// CHECK-NEXT: memref.load %[[M]]
// CHECK-NOT: async.await
// CHECK: return
// VALUES: clean
// VALUES: argument 0: 1.5 4
func.func @values(%out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t, %f = async.execute -> !async.value<f32> {
    %x = arith.constant 1.5 : f32
    async.yield %x : f32
  }
  %v = async.await %f : !async.value<f32>
  memref.store %v, %out[%c0] : memref<2xf32>
  %t1, %f1 = async.execute [%t] -> !async.value<f32> {
    %t2, %f2 = async.execute -> !async.value<f32> {
      %x = arith.constant 2.5 : f32
      async.yield %x : f32
    }
    %x = async.await %f2 : !async.value<f32>
    async.yield %x : f32
  }
  %t3, %f3 = async.execute [%t1] (%f1 as %x : !async.value<f32>, %f as %y : !async.value<f32>)
      -> !async.value<memref<f32>> {
    %m = memref.alloc() : memref<f32>
    %s = arith.addf %x, %y : f32
    memref.store %s, %m[] : memref<f32>
    async.yield %m : memref<f32>
  }
  %m = async.await %f3 : !async.value<memref<f32>>
  %s = memref.load %m[] : memref<f32>
  memref.store %s, %out[%c1] : memref<2xf32>
  async.await %t3 : !async.token
  memref.dealloc %m : memref<f32>
  return
}

// A task that does nothing is a join, and a group is what was added to it.
// CHECK-LABEL: func.func @joins
// CHECK: %[[R:.+]] = async.ready
// CHECK: %[[J:.+]] = async.join %[[A:.+]], %[[B:.+]]
// CHECK: async.await %[[R]], %[[J]]{{$}}
// CHECK-NEXT: return
func.func @joins(%a: !async.token, %b: !async.token, %size: index) {
  %r = async.execute { async.yield }
  %j = async.execute [%a, %b] { async.yield }
  %one = async.execute [%j] { async.yield }
  %g = async.create_group %size : !async.group
  %0 = async.add_to_group %r, %g : !async.token
  %1 = async.add_to_group %one, %g : !async.token
  async.await_all %g
  async.await %a : !async.token
  return
}

// A loop carries the join.
// CHECK-LABEL: func.func @group_in_loop
// CHECK: %[[R:.+]] = async.ready
// CHECK: %[[ALL:.+]] = scf.for {{.*}} iter_args(%[[BEFORE:.+]] = %[[R]]) -> (!async.token) {
// CHECK: %[[T:.+]] = async.region {
// CHECK: %[[IF:.+]] = scf.if {{.*}} -> (!async.token) {
// CHECK: %[[J:.+]] = async.join %[[BEFORE]], %[[T]]
// CHECK: scf.yield %[[J]]
// CHECK: } else {
// CHECK: async.await %[[T]]
// CHECK: scf.yield %[[BEFORE]]
// CHECK: scf.yield %[[IF]]
// CHECK: async.await %[[ALL]]
// GROUP: clean
// GROUP: argument 0: 0 1 2 3
func.func @group_in_loop(%out: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %g = async.create_group %c2 : !async.group
  scf.for %i = %c0 to %c4 step %c1 {
    %t = async.execute {
      memref.store %i, %out[%i] : memref<4xindex>
      async.yield
    }
    %first = arith.cmpi ult, %i, %c2 : index
    scf.if %first {
      %r = async.add_to_group %t, %g : !async.token
    } else {
      async.await %t : !async.token
    }
  }
  async.await_all %g
  return
}

// What a task adds, its token waits for; what it awaits was added before.
// CHECK-LABEL: func.func @group_in_task
// CHECK: %[[T:.+]] = async.region {
// CHECK: %[[U:.+]] = async.region {
// CHECK: async.yield %[[U]] : !async.token
// CHECK: %[[W:.+]] = async.region {
// CHECK-NEXT: async.await %[[T]]
// CHECK: async.await %[[W]]
// TASK: clean
// TASK: argument 0: 7 8
func.func @group_in_task(%out: memref<2xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %g = async.create_group %c1 : !async.group
  %t = async.execute {
    %u = async.execute {
      memref.store %c7, %out[%c0] : memref<2xindex>
      async.yield
    }
    %r = async.add_to_group %u, %g : !async.token
    async.yield
  }
  %w = async.execute {
    async.await_all %g
    %x = memref.load %out[%c0] : memref<2xindex>
    %y = arith.addi %x, %c1 : index
    memref.store %y, %out[%c1] : memref<2xindex>
    async.yield
  }
  %h = async.create_group %c1 : !async.group
  %r = async.add_to_group %w, %h : !async.token
  async.await_all %h
  return
}

// The body of an asynchronous function is a task.
// CHECK-LABEL: async.func @make(
// CHECK-SAME: -> (memref<index>, !async.token) {
// CHECK: %[[T:.+]], %[[V:.+]] = async.region -> (memref<index>) {
// CHECK: async.yield %[[V]], %[[T]] : memref<index>, !async.token
async.func @make(%x: index) -> !async.value<memref<index>> {
  %m = memref.alloc() : memref<index>
  memref.store %x, %m[] : memref<index>
  return %m : memref<index>
}

// CHECK-LABEL: async.func @double(
// CHECK-SAME: %[[M:.+]]: memref<index>, %[[T:.+]]: !async.token) -> !async.token {
// CHECK: async.region {
// CHECK-NEXT: async.await %[[T]]
// CHECK-NEXT: memref.load %[[M]]
async.func @double(%f: !async.value<memref<index>>) -> !async.token {
  %m = async.await %f : !async.value<memref<index>>
  %x = memref.load %m[] : memref<index>
  %y = arith.addi %x, %x : index
  memref.store %y, %m[] : memref<index>
  return
}

// Where it has several blocks, the region has an operation with them.
// CHECK-LABEL: async.func @pick(
// CHECK: async.region -> (index) {
// CHECK-NEXT: %[[X:.+]] = scf.execute_region -> index {
// CHECK: cf.cond_br
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: async.yield %[[X]] : index
async.func @pick(%c: i1, %x: index, %y: index) -> (!async.token, !async.value<index>) {
  cf.cond_br %c, ^a, ^b
^a:
  async.return %x : index
^b:
  async.return %y : index
}

// CHECK-LABEL: func.func @functions
// CHECK: %[[R:.+]]:2 = async.call @make(
// CHECK: %[[D:.+]] = async.call @double(%[[R]]#0, %[[R]]#1) : (memref<index>, !async.token) -> !async.token
// CHECK: async.await %[[D]]
// FUNCTIONS: clean
// FUNCTIONS: argument 0: 42 3
func.func @functions(%out: memref<2xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c21 = arith.constant 21 : index
  %false = arith.constant false
  %f = async.call @make(%c21) : (index) -> !async.value<memref<index>>
  %t = async.call @double(%f) : (!async.value<memref<index>>) -> !async.token
  async.await %t : !async.token
  %m = async.await %f : !async.value<memref<index>>
  %x = memref.load %m[] : memref<index>
  memref.store %x, %out[%c0] : memref<2xindex>
  %u, %g = async.call @pick(%false, %c0, %c3) : (i1, index, index) -> (!async.token, !async.value<index>)
  async.await %u : !async.token
  %y = async.await %g : !async.value<index>
  memref.store %y, %out[%c1] : memref<2xindex>
  return
}

// A function takes what has been added to a group, and returns what is in it then.
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[G:[^:]+]]: !async.token, {{.*}}) -> !async.token {
// CHECK: %[[T:.+]] = async.region {
// CHECK: %[[J:.+]] = async.join %[[G]], %[[T]]
// CHECK: return %[[J]] : !async.token
func.func private @add(%g: !async.group, %out: memref<2xindex>, %i: index) {
  %t = async.execute {
    memref.store %i, %out[%i] : memref<2xindex>
    async.yield
  }
  %r = async.add_to_group %t, %g : !async.token
  return
}

// CHECK-LABEL: func.func private @wait(
// CHECK-SAME: %[[G:.+]]: !async.token) {
// CHECK-NEXT: async.await %[[G]]
// CHECK-NEXT: return
func.func private @wait(%g: !async.group) {
  async.await_all %g
  return
}

// CHECK-LABEL: func.func @adds_in_function
// CHECK: %[[R:.+]] = async.ready
// CHECK: %[[A:.+]] = call @add(%[[R]],
// CHECK: %[[B:.+]] = call @add(%[[A]],
// CHECK: call @wait(%[[B]])
// CALLED: clean
// CALLED: argument 0: 0 1
func.func @adds_in_function(%out: memref<2xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %g = async.create_group %c2 : !async.group
  call @add(%g, %out, %c0) : (!async.group, memref<2xindex>, index) -> ()
  call @add(%g, %out, %c1) : (!async.group, memref<2xindex>, index) -> ()
  call @wait(%g) : (!async.group) -> ()
  return
}

// Values go through loops, branches, selects and calls, each with its token.
// CHECK-LABEL: func.func private @later(
// CHECK-SAME: %[[V:.+]]: index, %[[T:.+]]: !async.token) -> (index, !async.token) {
// CHECK: return %[[V]], %[[T]]
func.func private @later(%f: !async.value<index>) -> !async.value<index> {
  return %f : !async.value<index>
}

// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[V:.+]] = %{{.+}}, %[[T:.+]] = %{{.+}}) -> (index, !async.token) {
// CHECK: async.region [%[[T]]] -> (index) {
// CHECK-NEXT: arith.addi %[[V]]
// CHECK: %[[IF:.+]]:2 = scf.if {{.*}} -> (index, !async.token) {
// CHECK: scf.yield %[[IF]]#0, %[[IF]]#1 : index, !async.token
// CHECK: %[[ST:.+]] = arith.select {{.*}} : !async.token
// CHECK: async.await %[[ST]]
// CARRIED: clean
// CARRIED: argument 0: 3
func.func @carried(%out: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %true = arith.constant true
  %t0, %f0 = async.execute -> !async.value<index> {
    async.yield %c0 : index
  }
  %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%f = %f0) -> (!async.value<index>) {
    %t, %g = async.execute (%f as %x : !async.value<index>) -> !async.value<index> {
      %y = arith.addi %x, %c1 : index
      async.yield %y : index
    }
    %is_first = arith.cmpi eq, %i, %c0 : index
    %h = scf.if %is_first -> (!async.value<index>) {
      scf.yield %f : !async.value<index>
    } else {
      %k = func.call @later(%g) : (!async.value<index>) -> !async.value<index>
      scf.yield %k : !async.value<index>
    }
    scf.yield %h : !async.value<index>
  }
  %s = arith.select %true, %last, %f0 : !async.value<index>
  %v = async.await %s : !async.value<index>
  memref.store %v, %out[%c0] : memref<1xindex>
  return
}

// The same through blocks: a group gets an argument in each.
// CHECK-LABEL: func.func @blocks
// CHECK: cf.br ^[[LOOP:bb[0-9]+]](%{{.+}}, %{{.+}} : index, !async.token)
// CHECK: ^[[LOOP]](%{{.+}}: index, %[[G:.+]]: !async.token):
// CHECK: async.join %[[G]],
// CHECK: cf.cond_br
// CHECK: async.await
// BLOCKS: clean
// BLOCKS: argument 1: 0 1 2 3 4
func.func @blocks(%n: index, %out: memref<5xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = async.create_group %n : !async.group
  cf.br ^loop(%c0 : index)
^loop(%i: index):
  %t = async.execute {
    memref.store %i, %out[%i] : memref<5xindex>
    async.yield
  }
  %r = async.add_to_group %t, %g : !async.token
  %next = arith.addi %i, %c1 : index
  %more = arith.cmpi ult, %next, %n : index
  cf.cond_br %more, ^loop(%next : index), ^end
^end:
  async.await_all %g
  return
}

// CHECK-LABEL: func.func @value_in_blocks
// CHECK: cf.cond_br %{{.+}}, ^[[A:bb[0-9]+]](%[[V:.+]], %[[T:.+]] : index, !async.token), ^[[B:bb[0-9]+]]
// CHECK: ^[[A]](%[[X:.+]]: index, %[[XT:.+]]: !async.token):
// CHECK-NEXT: async.await %[[XT]]
// CHECK-NEXT: return %[[X]]
func.func @value_in_blocks(%c: i1, %f: !async.value<index>) -> index {
  %c0 = arith.constant 0 : index
  cf.cond_br %c, ^a(%f : !async.value<index>), ^b
^a(%x: !async.value<index>):
  %v = async.await %x : !async.value<index>
  return %v : index
^b:
  return %c0 : index
}

// Errors stay assertions.
// CHECK-LABEL: func.func @fails
// FAILS: error: {{.*}}too large
func.func @fails() {
  %false = arith.constant false
  %t = async.execute {
    cf.assert %false, "too large"
    async.yield
  }
  async.await %t : !async.token
  return
}
