// Buffers of the host, which any task may access as long as they live.

// A buffer that is freed too early: before or after the access, as the schedule has it.
//
// RUN: not async-sim %s --kernel=freed_early | FileCheck %s --check-prefix=FREED
// RUN: not async-sim %s --kernel=freed_early --schedule=early | FileCheck %s --check-prefix=EARLY
// FREED: :[[#@LINE+11]]:5: error: memref.store: the buffer of {{.*}}:8 was deallocated before
// FREED-NEXT: this: task 1
// FREED-NEXT: against: memref.dealloc at {{.*}}host-regions-memory.mlir:[[#@LINE+13]]:3, @freed_early itself
// EARLY: :[[#@LINE+12]]:3: error: memref.dealloc: ends the life of the buffer of {{.*}}:8, and nothing orders the access of another task before that
// EARLY-NEXT: this: @freed_early itself
// EARLY-NEXT: against: memref.store at {{.*}}:5, task 1
// EARLY-NEXT: help: await the token of that task before this
func.func @freed_early() {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<1xindex>
  %t = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }

  memref.dealloc %m : memref<1xindex>
  async.await %t
  return
}

// RUN: async-sim %s --kernel=freed | FileCheck %s --check-prefix=CLEAN
// RUN: async-sim %s --kernel=freed --schedule=early | FileCheck %s --check-prefix=CLEAN
// CLEAN: freed: clean
func.func @freed() {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<1xindex>
  %t = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }
  %u = async.region [%t] {
    memref.dealloc %m : memref<1xindex>
    async.yield
  }
  async.await %u
  return
}

// RUN: not async-sim %s --kernel=freed_twice | FileCheck %s --check-prefix=TWICE
// TWICE: error: memref.dealloc: the buffer of {{.*}} was deallocated before
func.func @freed_twice() {
  %m = memref.alloc() : memref<1xindex>
  %t = async.region {
    memref.dealloc %m : memref<1xindex>
    async.yield
  }
  async.await %t
  memref.dealloc %m : memref<1xindex>
  return
}

// Regions that still run when the function returns come to their end, and what `memref.alloca` makes is gone then.
//
// RUN: async-sim %s --kernel=outlives --print | FileCheck %s --check-prefix=OUTLIVES
// OUTLIVES: outlives: clean
// OUTLIVES: argument 0: 7
func.func @outlives(%m: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %t = async.region {
    memref.store %c7, %m[%c0] : memref<1xindex>
    async.yield
  }
  return
}

// RUN: not async-sim %s --kernel=stack | FileCheck %s --check-prefix=STACK
// RUN: not async-sim %s --kernel=stack --schedule=early | FileCheck %s --check-prefix=STACK-EARLY
// STACK: error: memref.store: the buffer of {{.*}} was deallocated before
// STACK: against: func.return at
// STACK-EARLY: error: func.return: ends the life of the buffer of {{.*}}, and nothing orders the access of another task before that
func.func @stack() {
  %c0 = arith.constant 0 : index
  %m = memref.alloca() : memref<1xindex>
  %t = async.region {
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield
  }
  return
}

// RUN: not async-sim %s --kernel=stack_of_region --schedule=early | FileCheck %s --check-prefix=REGION
// REGION: error: memref.load: the buffer of {{.*}} was deallocated before
// REGION: against: async.yield at
func.func @stack_of_region() -> index {
  %c0 = arith.constant 0 : index
  %t, %v = async.region -> (memref<1xindex>) {
    %m = memref.alloca() : memref<1xindex>
    memref.store %c0, %m[%c0] : memref<1xindex>
    async.yield %m : memref<1xindex>
  }
  async.await %t
  %x = memref.load %v[%c0] : memref<1xindex>
  return %x : index
}

// Parts of a buffer, and copies of them.
//
// RUN: async-sim %s --kernel=parts --print --schedule=random --runs=10 | FileCheck %s --check-prefix=PARTS
// PARTS: parts: clean
// PARTS: argument 0: 1 1 2 2
func.func @parts(%m: memref<4xi32>) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %low = memref.subview %m[0] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1]>>
  %high = memref.subview %m[2] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 2>>
  %t = async.region {
    linalg.fill ins(%c1 : i32) outs(%low : memref<2xi32, strided<[1]>>)
    async.yield
  }
  %u = async.region {
    %a = memref.alloc() : memref<2xi32>
    linalg.fill ins(%c2 : i32) outs(%a : memref<2xi32>)
    memref.copy %a, %high : memref<2xi32> to memref<2xi32, strided<[1], offset: 2>>
    memref.dealloc %a : memref<2xi32>
    async.yield
  }
  async.await %t
  async.await %u
  return
}
