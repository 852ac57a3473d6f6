// A device operation that fails: what depends on it is skipped, the program ends where it is awaited, and what frees memory runs.

// RUN: not async-sim %s --fail-at=1 | FileCheck %s --check-prefix=ALLOC
// RUN: not async-sim %s --fail-at=2 | FileCheck %s --check-prefix=FILL
// RUN: not async-sim %s --fail-at=2 --schedule=early | FileCheck %s --check-prefix=FILL
// RUN: not async-sim %s --fail-at=2 --schedule=random --runs=3 | FileCheck %s --check-prefix=FILL
// RUN: not async-sim %s --fail-at=4 | FileCheck %s --check-prefix=FREE
// RUN: async-sim %s --fail-at=5 | FileCheck %s --check-prefix=NONE
// RUN: not async-sim %s --fail-at=1 --kernel=main 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not async-sim %s --fail-at=1 --entry=task | FileCheck %s --check-prefix=TASK
// RUN: not async-sim %s --fail-at=1 --entry=not_awaited | FileCheck %s --check-prefix=NOWHERE

!d = memref<4xi32, #gpu.address_space<global>>
!h = memref<4xi32>

// There is nothing to free then.
// ALLOC-NOT: {{^}}7
// ALLOC: error: gpux.alloc: fails as call 1 of the device, as it was told to
// ALLOC: against: async.await at
// ALLOC-NOT: never freed
// ALLOC: main: not clean

// FILL-NOT: {{^}}7
// FILL: error: gpux.memset: fails as call 2 of the device
// FILL: against: async.await at
// FILL-NOT: never freed
// FILL-NOT: error:
// FILL: main: not clean

// FREE: error: gpux.dealloc: fails as call 4 of the device
// FREE: main: never freed: the buffer of {{.*}}, 16 bytes
// FREE: main: not clean

// NONE: 7
// NONE-NEXT: main: clean

// KERNEL: the argument '--fail-at <N>' cannot be used with '--kernel <KERNEL>'
func.func @main() {
  %c0 = arith.constant 0 : index
  %seven = arith.constant 7 : i32
  %h = memref.alloc() : !h
  %d, %made = gpux.alloc async () : !d
  %filled = gpux.memset async [%made] %seven, %d : !d
  %copied = gpux.transfer async [%filled] %d, %h : !d to !h
  %freed = gpux.dealloc async [%copied] %d : !d
  async.await %copied, %freed
  %x = memref.load %h[%c0] : !h
  vector.print %x : i32
  memref.dealloc %h : !h
  return
}

// A task that awaits it fails, too, and so does one that delays its token: the number is not printed.
// TASK-NOT: {{^}}7
// TASK: error: gpux.alloc: fails as call 1 of the device
// TASK: against: async.await at {{.*}}fail-at.mlir:[[#@LINE+17]]:3, @task itself
// TASK-NOT: never freed
// TASK: task: not clean
func.func @task() {
  %c0 = arith.constant 0 : index
  %seven = arith.constant 7 : i32
  %t = async.region {
    %d, %made = gpux.alloc async () : !d
    %inner = async.region {
      async.await %made
      vector.print %seven : i32
      async.yield
    }
    %freed = gpux.dealloc async [%inner] %d : !d
    async.yield %freed : !async.token
  }
  %u = async.join %t
  async.await %u
  vector.print %seven : i32
  return
}

// NOWHERE: {{^}}7
// NOWHERE-NEXT: error: gpux.alloc: fails as call 1
// NOWHERE-NOT: against
// NOWHERE: not_awaited: not clean
func.func @not_awaited() {
  %seven = arith.constant 7 : i32
  %d, %made = gpux.alloc async () : !d
  %freed = gpux.dealloc async [%made] %d : !d
  vector.print %seven : i32
  return
}
