// In host code, each region is a task of its own.

// Two regions that race: found under every schedule.
//
// RUN: not async-sim %s --kernel=race | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=race --schedule=early | FileCheck %s --check-prefix=RACE
// RUN: not async-sim %s --kernel=race --schedule=exhaustive | FileCheck %s --check-prefix=RACE

// RACE: :[[#@LINE+13]]:5: error: WAW race: memref.store writes what another task writes, and nothing orders the two
// RACE-NEXT: this:    task 2 (async.region at {{.*}}host-regions.mlir:[[#@LINE+11]]:8)
// RACE-NEXT: against: memref.store at {{.*}}:5, task 1
// RACE-NEXT: on: bytes 0 to 7 of argument 0
// RACE-NEXT: help: await the token of the one that is to come first, or make it a dependency of the other
// RACE: race: not clean ({{.*}} of 3 tasks, {{.*}})
func.func @race(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %t = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }
  %u = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }
  async.await %t
  async.await %u
  return
}

// The function itself is a task, too.
//
// RUN: not async-sim %s --kernel=race_with_function --schedule=early | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: :[[#@LINE+9]]:8: error: RAW race: memref.load reads what another task writes
// FUNCTION-NEXT: this: @race_with_function itself
func.func @race_with_function(%m: memref<1xindex>) -> index {
  %c0 = arith.constant 0 : index
  %t = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }

  %x = memref.load %m[%c0] : memref<1xindex>
  async.await %t
  return %x : index
}

// What orders tasks: a dependency, an await in the function or in a region, a join, and the making of a task.
//
// RUN: async-sim %s --kernel=ordered --print | FileCheck %s --check-prefix=ORDERED
// RUN: async-sim %s --kernel=ordered --print --schedule=early | FileCheck %s --check-prefix=ORDERED
// RUN: async-sim %s --kernel=ordered --print --schedule=random --runs=20 | FileCheck %s --check-prefix=ORDERED
// ORDERED: ordered: clean ({{.*}} of 7 tasks, {{.*}})
// ORDERED: argument 0: 6
func.func @ordered(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %c1, %m[%c0] : memref<1xindex>
  %t = async.region {
    func.call @increment(%m) : (memref<1xindex>) -> ()
    async.yield
  }
  %u = async.region [%t] {
    func.call @increment(%m) : (memref<1xindex>) -> ()
    async.yield
  }
  async.await %u
  func.call @increment(%m) : (memref<1xindex>) -> ()
  %ready = async.ready
  %v = async.region [%ready] {
    func.call @increment(%m) : (memref<1xindex>) -> ()
    async.yield
  }
  %w = async.region {
    async.await %v
    func.call @increment(%m) : (memref<1xindex>) -> ()
    async.yield
  }
  %r = async.region {
    async.yield
  }
  %j = async.join %w, %r
  %x = async.region [%j] {
    memref.load %m[%c0] : memref<1xindex>
    async.yield
  }
  async.await %x
  return
}

func.func private @increment(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %m[%c0] : memref<1xindex>
  %y = arith.addi %x, %c1 : index
  memref.store %y, %m[%c0] : memref<1xindex>
  return
}

// A loop hands the token of each iteration on to the next one.
//
// RUN: async-sim %s --kernel=chain --print --schedule=random --runs=20 | FileCheck %s --check-prefix=CHAIN
// CHAIN: chain: clean (20 runs of 5 tasks, {{.*}})
// CHAIN: argument 0: 4
func.func @chain(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  memref.store %c0, %m[%c0] : memref<1xindex>
  %ready = async.ready
  %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%before = %ready) -> (!async.token) {
    %t = async.region [%before] {
      func.call @increment(%m) : (memref<1xindex>) -> ()
      async.yield
    }
    scf.yield %t : !async.token
  }
  async.await %last
  return
}

// RUN: not async-sim %s --kernel=loop | FileCheck %s --check-prefix=LOOP
// LOOP: error: RAW race: memref.load reads what another task writes
// LOOP-NEXT: this: task {{[0-9]}} (async.region at {{.*}}), iteration {{[0-9]}} of the scf.for at {{.*}}
func.func @loop(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  memref.store %c0, %m[%c0] : memref<1xindex>
  scf.for %i = %c0 to %c4 step %c1 {
    %t = async.region {
      func.call @increment(%m) : (memref<1xindex>) -> ()
      async.yield
    }
  }
  return
}

// The tokens that a region yields delay its own.
//
// RUN: async-sim %s --kernel=nested | FileCheck %s --check-prefix=NESTED
// RUN: async-sim %s --kernel=nested --schedule=exhaustive | FileCheck %s --check-prefix=NESTED
// NESTED: nested: clean ({{.*}} of 3 tasks, {{.*}})
func.func @nested(%m: memref<1xindex>) -> index {
  %c0 = arith.constant 0 : index
  %t = async.region {
    %inner = async.region {
      memref.store %c0, %m[%c0] : memref<1xindex>
      async.yield
    }
    async.yield %inner : !async.token
  }
  async.await %t
  %x = memref.load %m[%c0] : memref<1xindex>
  return %x : index
}

// RUN: not async-sim %s --kernel=nested_unyielded | FileCheck %s --check-prefix=UNYIELDED
// RUN: not async-sim %s --kernel=nested_unyielded --schedule=early | FileCheck %s --check-prefix=UNYIELDED
// UNYIELDED: error: {{RAW|WAR}} race: memref
func.func @nested_unyielded(%m: memref<1xindex>) -> index {
  %c0 = arith.constant 0 : index
  %t = async.region {
    %inner = async.region {
      memref.store %c0, %m[%c0] : memref<1xindex>
      async.yield
    }
    async.yield
  }
  async.await %t
  %x = memref.load %m[%c0] : memref<1xindex>
  return %x : index
}

// A function runs in the thread of its caller; what it returns may be pending.
//
// RUN: async-sim %s --kernel=call | FileCheck %s --check-prefix=CALL
// RUN: async-sim %s --kernel=call --schedule=early | FileCheck %s --check-prefix=CALL
// CALL: call: clean ({{.*}} of 2 tasks, {{.*}})
func.func @call(%m: memref<1xindex>) -> index {
  %c0 = arith.constant 0 : index
  %v, %t = async.call @pending(%m) : (memref<1xindex>) -> (memref<1xindex>, !async.token)
  async.await %t
  %x = memref.load %v[%c0] : memref<1xindex>
  return %x : index
}

async.func private @pending(%m: memref<1xindex>) -> (memref<1xindex>, !async.token) {
  %c0 = arith.constant 0 : index
  %t = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }
  async.yield %m, %t : memref<1xindex>, !async.token
}

// RUN: not async-sim %s --kernel=call_unawaited | FileCheck %s --check-prefix=UNAWAITED
// UNAWAITED: :[[#@LINE+4]]:8: error: memref.load: a value of the async.call at {{.*}}:12 is used before its token is complete
func.func @call_unawaited(%m: memref<1xindex>) -> index {
  %c0 = arith.constant 0 : index
  %v, %t = async.call @pending(%m) : (memref<1xindex>) -> (memref<1xindex>, !async.token)
  %x = memref.load %v[%c0] : memref<1xindex>
  async.await %t
  return %x : index
}

// A value that is used before the token of its region is complete. The run goes on when it is.
//
// RUN: not async-sim %s --kernel=early_use --print | FileCheck %s --check-prefix=EARLY
// RUN: not async-sim %s --kernel=early_use --print --schedule=early | FileCheck %s --check-prefix=EARLY
// EARLY: :[[#@LINE+9]]:8: error: arith.addi: a value of the async.region at {{.*}}:12 is used before its token is complete
// EARLY: help: await the token first, or make it a dependency
// EARLY: argument 0: 2
func.func @early_use(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t, %v = async.region -> (index) {
    async.yield %c1 : index
  }
  %x = arith.addi %v, %v : index
  memref.store %x, %m[%c0] : memref<1xindex>
  async.await %t
  return
}
